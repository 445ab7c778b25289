"""Draws random host programs: valid by construction, so that whatever raises is a failure."""

from __future__ import annotations

import random
from dataclasses import replace

from order.steps import (
    ANYWHERE,
    ENDINGS,
    HALVES,
    Chain,
    Copy,
    Detour,
    Drop,
    Ending,
    HostWrite,
    Input,
    Launch,
    Read,
    Record,
    Renew,
    Replay,
    Share,
    Step,
    Threads,
)

TENSORS = 5
STREAMS = 3
GRAPHS = 2
LENGTHS = (0, 1, 60, 1000)
"""Iterations of the kernel that is told how many."""
LAUNCHES = (
    "lengthy", "lengthy", "lasting", "axpy", "axpy", "bump", "seven", "pick", "scale", "visit",
    "shift", "tally", "blend", "weigh",
)  # fmt: skip
INPUTS = {
    "lengthy": 1, "lasting": 1, "axpy": 2, "bump": 0, "seven": 0, "pick": 2, "scale": 1, "visit": 0,
    "shift": 1, "tally": 1, "blend": 2, "weigh": 2,
}  # fmt: skip
UNDIVIDED = ("scale", "tally")
"""They take their output as a whole tensor."""
READ_OUTPUTS = ("bump", "shift", "tally")
"""What they leave depends on what was there, so they do not begin with new memory."""
INPUT_FORMS = ("plain",) * 8 + ("view", "array", "dup", "value")
READS = ("to_numpy", "to_numpy", "asarray", "dlpack", "view", "item", "op", "future")


class Draw:
    """Draws the steps of one program, and knows what each leaves allowed."""

    def __init__(
        self,
        seed: int,
        lengths: tuple[int, ...] = LENGTHS,
        kernels: tuple[str, ...] = LAUNCHES,
        devices: int = 1,
    ) -> None:
        """`devices` are those of the program: with one, no step leaves it."""
        self.random, self.devices = random.Random(seed), devices
        self.lengths, self.kernels = lengths, kernels
        self.shared: set[int] = set()
        self.graphs: dict[int, tuple[Launch, ...]] = {}

    def program(self) -> list[Step]:
        """The steps, about a dozen."""
        steps: list[Step] = []
        for _ in range(self.random.randint(3, 14)):
            steps += self._next()
        return steps

    def _next(self) -> list[Step]:
        kinds = (
            (self._launch_step, 12), (self._chain, 2), (self._copy, 3), (self._renew, 2),
            (self._read, 3), (self._host_write, 1), (self._share, 1), (self._record, 1),
            (self._replay, 3), (self._drop, 1), (self._threads, 0.3),
        )  # fmt: skip
        if self.devices > 1:
            kinds = (*kinds, (self._detour, 6))
        draw, _ = self.random.choices(kinds, [weight for _, weight in kinds])[0]
        return draw()

    # Parts

    def _writable(self) -> list[int]:
        return [t for t in range(TENSORS) if t not in self.shared]

    def _ending(self, *, await_too: bool = True) -> Ending:
        if await_too and self.random.random() < 0.02:
            return Ending("await")
        return Ending(self.random.choice(ENDINGS), self.random.randrange(STREAMS))

    def _launch(self, outs: list[int], reads: list[int] | None = None) -> Launch | None:
        """A launch that writes in place."""
        rng = self.random
        if not outs:
            return None
        out, kernel = rng.choice(outs), rng.choice(self.kernels)
        sources = [t for t in (range(TENSORS) if reads is None else reads) if t != out]
        if INPUTS[kernel] and not sources:
            return None
        inputs = tuple(
            Input(rng.choice(sources), rng.choice(INPUT_FORMS)) for _ in range(INPUTS[kernel])
        )
        part = rng.choice(HALVES) if kernel not in UNDIVIDED and rng.random() < 0.2 else None
        numbers: tuple[int, ...] = {
            "lengthy": (rng.choice(self.lengths),),
            "axpy": (rng.randint(-4, 4),),
            "bump": (rng.randint(-9, 9),),
            "scale": (rng.randint(-5, 5),),
            "visit": (rng.randint(-5, 5),),
            "tally": (rng.randint(-5, 5),),
            "blend": (rng.randrange(3),),
            "weigh": (rng.randint(-1, 1),),
        }.get(kernel, ())
        form = "part" if part else "mut"
        return Launch(kernel, out, form, part, inputs, numbers, self._ending())

    def _plainly(self, launch: Launch) -> Launch:
        """The same for a graph: what it reads is there already."""
        inputs = tuple(replace(i, form="view" if i.form == "view" else "plain")
                       for i in launch.inputs)  # fmt: skip
        return replace(launch, inputs=inputs)

    def _let_go(self, tensor: int) -> list[Step]:
        """Drop the graphs that use a tensor which gets other memory, or another owner."""
        dropped: list[Step] = []
        for graph, launches in list(self.graphs.items()):
            reads = {i.tensor for each in launches for i in each.inputs}
            if tensor in reads | {each.out for each in launches}:
                del self.graphs[graph]
                dropped.append(Drop(graph))
        return dropped

    # Steps

    def _launch_step(self) -> list[Step]:
        launch = self._launch(self._writable())
        if launch is None:
            return []
        chance = self.random.random()
        if launch.part is not None or chance > 0.35:
            return [launch]
        if chance < 0.15 and launch.kernel not in UNDIVIDED:
            return [*self._let_go(launch.out), replace(launch, form="given")]
        if launch.kernel in READ_OUTPUTS:
            return [launch]
        owns = all(i.tensor in self.shared and i.form == "plain" for i in launch.inputs)
        if owns and self.random.random() < 0.5:
            launch = replace(launch, ending=Ending("spawn"))
        return [*self._let_go(launch.out), replace(launch, form="fresh")]

    def _chain(self) -> list[Step]:
        outs, launches = self._writable(), []
        zipped = self.random.random() < 0.4
        for _ in range(self.random.randint(2, 3)):
            taken = {each.out for each in launches}
            read = {i.tensor for each in launches for i in each.inputs}
            free = [t for t in outs if t not in taken | read] if zipped else outs
            sources = [t for t in range(TENSORS) if t not in taken] if zipped else None
            launch = self._launch(free, sources)
            if launch is not None:
                # Arrays are made before the chain runs, so only what it does not write is one.
                launches.append(self._plainly(launch) if taken else launch)
        return [Chain(tuple(launches), zipped, self._ending())] if launches else []

    def _copy(self) -> list[Step]:
        outs = self._writable()
        if not outs:
            return []
        target = self.random.choice(outs)
        how = self.random.choice(("copy_from", "memcpy", "part", "fill"))
        source: int | None = self.random.choice([t for t in range(TENSORS) if t != target])
        if self.random.random() < 0.3:
            source = None
        ending = self._ending(await_too=False)
        return [Copy(target, source, how, self.random.randint(-99, 99), ending)]

    def _detour(self) -> list[Step]:
        outs, rng = self._writable(), self.random
        if not outs:
            return []
        target = rng.choice(outs)
        source = rng.choice([t for t in range(TENSORS) if t != target])
        how = rng.choice(("to", "held", "held", "pieces"))
        there, bumped, back = (Ending(rng.choice(ANYWHERE)) for _ in range(3))
        device, number = rng.randrange(self.devices - 1), rng.randint(-9, 9)
        return [Detour(target, source, how, device, number, (there, bumped, back))]

    def _renew(self) -> list[Step]:
        outs = self._writable()
        if not outs:
            return []
        target = self.random.choice(outs)
        how = self.random.choice(("from_numpy", "full", "dup"))
        source = self.random.randrange(TENSORS) if how == "dup" else None
        step = Renew(target, source, how, self.random.randint(-99, 99), self._ending())
        return [*self._let_go(target), step]

    def _read(self) -> list[Step]:
        return [Read(self.random.randrange(TENSORS), self.random.choice(READS))]

    def _host_write(self) -> list[Step]:
        outs = self._writable()
        return [HostWrite(self.random.choice(outs), self.random.randint(-9, 9))] if outs else []

    def _share(self) -> list[Step]:
        tensor = self.random.randrange(TENSORS)
        if tensor in self.shared:
            self.shared.discard(tensor)
            return [Share(tensor, shared=False)]
        self.shared.add(tensor)
        return [*self._let_go(tensor), Share(tensor, shared=True)]

    def _record(self) -> list[Step]:
        free = [g for g in range(GRAPHS) if g not in self.graphs]
        if not free:
            return []
        drawn = [self._launch(self._writable()) for _ in range(self.random.randint(1, 3))]
        launches = tuple(self._plainly(each) for each in drawn if each is not None)
        if not launches:
            return []
        self.graphs[free[0]] = launches
        stream, captured = self.random.randrange(STREAMS), self.random.random() < 0.5
        return [Record(free[0], launches, stream, captured), Replay(free[0], self._ending())]

    def _replay(self) -> list[Step]:
        known = [
            graph
            for graph, launches in self.graphs.items()
            if not any(each.out in self.shared for each in launches)
        ]
        return [Replay(self.random.choice(known), self._ending())] if known else []

    def _drop(self) -> list[Step]:
        graph = self.random.choice([None, *self.graphs])
        if graph is not None:
            del self.graphs[graph]
        return [Drop(graph)]

    def _threads(self) -> list[Step]:
        outs = self._writable()
        self.random.shuffle(outs)
        mine, others = outs[: len(outs) // 2], outs[len(outs) // 2 :]
        common = [t for t in range(TENSORS) if t in self.shared]
        drawn = (self._thread(mine, common), self._thread(others, common))
        return [Threads(tuple(steps for steps in drawn if steps))]

    def _thread(self, outs: list[int], common: list[int]) -> tuple[Step, ...]:
        steps: list[Step] = []
        for _ in range(self.random.randint(1, 4)):
            launch = self._launch(outs, [*outs, *common])
            if launch is not None:
                ending = replace(launch.ending, kind=launch.ending.kind.replace("await", "sync"))
                steps.append(replace(launch, ending=ending))
            if outs and self.random.random() < 0.3:
                steps.append(Read(self.random.choice(outs), "to_numpy"))
        return tuple(steps)

"""The steps of random host programs: what each means for NumPy arrays, and how a device does it.

A step means that its work ran to its end where the step stands, whatever the stream and the ending:
so the model runs one step after the other.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

import tilewright as tw
from order.kernels import TILE, Array, Kernel
from tilewright import i32

LENGTH = 600
"""Elements of every tensor: two whole tiles, and a part of one."""
HALVES = ((0, TILE), (TILE, 2 * TILE), (88, 88 + TILE), (TILE, LENGTH), (0, LENGTH - TILE))
"""Parts that steps use: neighbours, and some that overlap."""


class WrongValueError(AssertionError):
    """A tensor does not hold what the model says."""


@dataclass
class Model:
    """What the program means: arrays, and graphs as steps."""

    arrays: list[Array]
    graphs: dict[int, tuple[Launch, ...]] = field(default_factory=dict)


class World:
    """The program on a device, and its model beside it."""

    def __init__(self, device: Any, kernels: dict[str, Kernel], arrays: Sequence[Array]) -> None:
        self.device, self.kernels = device, kernels
        self.model = Model([a.copy() for a in arrays])
        self.streams = _streams(device)
        self.policy = tw.StreamPoolRoundRobin(device, 2)
        self.tensors: list[Any] = [tw.from_numpy(a.copy()).sync() for a in arrays]
        self.graphs: dict[int, Any] = {}
        self.others = [each for each in tw.devices() if _is_another(each, device)]
        """The other devices of the same kind."""
        self.held: dict[int, Any] = {}
        """A tensor on each of them, which detours go through one after the other."""
        self.kept: list[Any] = []
        """Futures and clones of which the program drops some while their work is in flight."""

    def expect(self, got: Array, expected: Array, what: str) -> None:
        """Raise if values are not those of the model; the null device has none."""
        if self.device.target != "null" and not np.array_equal(got, expected):
            wrong = np.flatnonzero(np.asarray(got).reshape(-1) != expected.reshape(-1))
            raise WrongValueError(
                f"{what}: {len(wrong)} of {expected.size} elements, first at {wrong[0]}"
            )

    def check_all(self) -> None:
        """Compare every tensor with the model."""
        for number, expected in enumerate(self.model.arrays):
            self.expect(self.tensors[number].to_numpy(), expected, f"t{number} at the end")


def _is_another(each: Any, device: Any) -> bool:
    return each is not device and each.target == device.target


def _streams(device: Any) -> list[Any]:
    """Three streams; on a GPU the last one is the second, as another library would lend it."""
    first, second = device.new_stream(), device.new_stream()
    if device.host_visible or device.target == "null":
        return [first, second, device.new_stream()]
    with tw.unsafe():
        return [first, second, tw.Stream.borrow_raw(second.handle, device, owner=second)]


class Step(Protocol):
    """One step of a program."""

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        """Do it to the arrays."""
        ...

    def run(self, world: World) -> None:
        """Do it on the device; the model still stands before the step."""
        ...


@dataclass(frozen=True)
class Ending:
    """How an op is run, and on which stream."""

    kind: str
    stream: int = 0

    def run(self, world: World, op: Any, *, needed: bool = False) -> Any:
        """Run an op; gives its result if that is needed."""
        kind, stream = self.kind, world.streams[self.stream]
        if kind in ("sync", "start"):
            return getattr(op, kind)()
        if kind in ("sync_on", "start_on"):
            return getattr(op, kind)(stream)
        if kind == "await":
            return asyncio.run(_awaited(op))
        if kind == "spawn":
            return tw.spawn(op).result()
        future = op.schedule(world.policy) if kind == "schedule" else op.into_future()
        if needed or kind == "result":
            return future.result()
        if kind == "future":
            world.kept.append(future)
        return None


ANYWHERE = ("sync", "start", "result", "future", "dropped")
"""Endings that name no stream."""
ENDINGS = ("sync", "start", "sync_on", "start_on", "result", "future", "dropped", "schedule")


async def _awaited(op: Any) -> Any:
    return await op


@dataclass(frozen=True)
class Input:
    """A tensor that a launch reads, and the form in which it is given."""

    tensor: int
    form: str = "plain"

    def value(self, world: World, part: tuple[int, int] | None) -> Any:
        """The argument; a part of it where the output is one."""
        tensor = world.tensors[self.tensor]
        start, stop = part or (0, LENGTH)
        if self.form == "array":
            return world.model.arrays[self.tensor][start:stop].copy()
        if isinstance(tensor, tw.Arc):
            tensor = tensor if part is None else tensor.value
        if part is not None or self.form == "view":
            tensor = (tensor.value if isinstance(tensor, tw.Arc) else tensor)[start:stop]
        if self.form == "dup":
            return tensor.dup()
        return tw.value(tensor) if self.form == "value" else tensor


@dataclass(frozen=True)
class Launch:
    """A kernel."""

    kernel: str
    out: int
    form: str
    """`mut`, `part`, `given` (and taken back), `fresh` (new memory, by a lazy argument)."""
    part: tuple[int, int] | None
    inputs: tuple[Input, ...]
    numbers: tuple[int, ...]
    ending: Ending

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        kernel = kernels[self.kernel]
        window = slice(*(self.part or (0, LENGTH)))
        reads = [
            model.arrays[i.tensor] if kernel.whole else model.arrays[i.tensor][window]
            for i in self.inputs
        ]
        target = model.arrays[self.out]
        target[window] = kernel.meaning(target[window].copy(), *reads, *self.numbers)

    def op(self, world: World) -> Any:
        """The launch as an op."""
        kernel, tensor = world.kernels[self.kernel], world.tensors[self.out]
        part = None if kernel.whole else self.part
        args = [i.value(world, part) for i in self.inputs]
        op = kernel.entry(self._output(kernel, tensor), *kernel.arrange(*args, *self.numbers))
        return op.grid((tw.cdiv(LENGTH, TILE),)) if kernel.adds else op

    def _output(self, kernel: Kernel, tensor: Any) -> Any:
        if kernel.threads or kernel.adds:
            return tw.empty((LENGTH,), i32) if self.form == "fresh" else tensor.borrow_mut()
        if self.form == "fresh":
            cut = tw.empty((LENGTH,), i32).partition((TILE,))
            return cut.map(lambda cut: cut.map((1,), 2)) if kernel.mapped else cut
        if self.form == "given":
            cut = tensor.partition((TILE,))
        elif self.part is not None:
            cut = tensor.borrow_mut()[slice(*self.part)].partition((TILE,))
        else:
            cut = tensor.partition_mut((TILE,))
        return cut.map((1,), 2) if kernel.mapped else cut

    def run(self, world: World) -> None:
        op = self.op(world)
        if self.form in ("given", "fresh"):
            world.tensors[self.out] = self.ending.run(world, op.out(), needed=True)
        else:
            self.ending.run(world, op)


@dataclass(frozen=True)
class Chain:
    """Launches one after the other as one op: a chain, or side by side by `zip`."""

    launches: tuple[Launch, ...]
    zipped: bool
    ending: Ending

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        for launch in self.launches:
            launch.model(model, kernels)

    def run(self, world: World) -> None:
        first, *rest = self.launches
        if self.zipped:
            op = tw.zip(*[launch.op(world) for launch in self.launches])
        else:
            op = first.op(world)
            for launch in rest:
                op = op.then(lambda *_, launch=launch: launch.op(world))
        self.ending.run(world, op, needed=True)


@dataclass(frozen=True)
class Copy:
    """Memory over memory: from a tensor, or an array of the host."""

    target: int
    source: int | None
    how: str
    """`copy_from`, `memcpy`, `part` (of both) or `fill`."""
    value: int
    ending: Ending

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        target = model.arrays[self.target]
        if self.how == "fill":
            target[:] = self.value
            return
        source = _host_values(self.value) if self.source is None else model.arrays[self.source]
        window = slice(*HALVES[2]) if self.how == "part" else slice(None)
        target[window] = source[window].copy()

    def run(self, world: World) -> None:
        target = world.tensors[self.target]
        source: Any = _host_values(self.value)
        if self.source is not None:
            source = world.tensors[self.source]
            source = source.value if isinstance(source, tw.Arc) else source
        if self.how == "fill":
            op = tw.fill(target, self.value)
        elif self.how == "memcpy":
            op = tw.memcpy(target, source)
        elif self.how == "part":
            window = slice(*HALVES[2])
            op = tw.memcpy(target.borrow_mut()[window], source[window])
        else:
            op = target.copy_from(source)
        self.ending.run(world, op)


def _host_values(seed: int) -> Array:
    return (np.arange(LENGTH, dtype=np.int32) * 7919) ^ np.int32(seed)


@dataclass(frozen=True)
class Detour:
    """A tensor goes to another device, is bumped there, and comes back over another one."""

    target: int
    source: int
    how: str
    """`to` (new memory there), `held` (over what was there), or `pieces` (over a mesh)."""
    device: int
    number: int
    endings: tuple[Ending, Ending, Ending]

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        meaning, source = kernels["bump"].meaning, model.arrays[self.source].copy()
        model.arrays[self.target][:] = meaning(source, self.number)

    def run(self, world: World) -> None:
        bump, (there, bumped, back) = world.kernels["bump"].entry, self.endings
        source, target = world.tensors[self.source], world.tensors[self.target]
        source = source.value if isinstance(source, tw.Arc) else source
        if self.how == "pieces":
            mesh = tw.Mesh([world.device, *world.others], {"x": 1 + len(world.others)})
            pieces = there.run(world, tw.shard(source, mesh), needed=True)
            bumped.run(world, bump(pieces.partition_mut((TILE,)), self.number))
            back.run(world, tw.memcpy(target, pieces.gather(world.device)))
            return
        device = self.device % len(world.others)
        if self.how == "to":
            moved = there.run(world, source.to(world.others[device]), needed=True)
        else:
            if device not in world.held:
                made = tw.zeros((LENGTH,), i32, device=world.others[device])
                world.held[device] = made.sync()
            moved = world.held[device]
            there.run(world, tw.memcpy(moved, source))
        bumped.run(world, bump(moved.partition_mut((TILE,)), self.number))
        back.run(world, tw.memcpy(target, moved))


@dataclass(frozen=True)
class Renew:
    """A name gets new memory, and what it had is dropped, in flight or not."""

    target: int
    source: int | None
    how: str
    """`from_numpy`, `full`, or `dup` of another tensor."""
    value: int
    ending: Ending

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        if self.how == "full":
            model.arrays[self.target] = np.full(LENGTH, self.value, np.int32)
        elif self.source is not None:
            model.arrays[self.target] = model.arrays[self.source].copy()
        else:
            model.arrays[self.target] = _host_values(self.value)

    def run(self, world: World) -> None:
        if self.how == "full":
            op: Any = tw.full((LENGTH,), self.value, i32)
        elif self.source is not None:
            op = world.tensors[self.source].dup()
        else:
            op = tw.from_numpy(_host_values(self.value))
        world.tensors[self.target] = self.ending.run(world, op, needed=True)


@dataclass(frozen=True)
class Read:
    """The host looks at a tensor."""

    tensor: int
    how: str
    """`to_numpy`, `asarray`, `view`, `item`, `op` or `future`."""

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        """Changes nothing."""

    def run(self, world: World) -> None:
        tensor, expected = world.tensors[self.tensor], world.model.arrays[self.tensor]
        tensor = tensor.value if isinstance(tensor, tw.Arc) else tensor
        got: Any
        if self.how == "view":
            got, expected = tensor[88:344].to_numpy(), expected[88:344]
        elif self.how == "item":
            got, expected = np.array([tensor[599].item()]), expected[599:]
        elif self.how == "op":
            got = tw.value(tensor).to_numpy().sync()
        elif self.how == "future":
            got = tensor.to_host_vec().into_future().result()
        elif self.how in ("asarray", "dlpack") and world.device.host_visible:
            seen = np.asarray(tensor) if self.how == "asarray" else np.from_dlpack(tensor)
            got = np.array(seen)
        else:
            got = tensor.to_numpy()
        world.expect(got, expected, f"t{self.tensor} read by {self.how}")


@dataclass(frozen=True)
class HostWrite:
    """The host writes a tensor in place; by a copy where it does not see the memory."""

    tensor: int
    value: int

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        model.arrays[self.tensor][TILE:] = self.value

    def run(self, world: World) -> None:
        tensor = world.tensors[self.tensor]
        if world.device.host_visible:
            with tensor.borrow_mut().numpy() as array:
                array[TILE:] = self.value
        else:
            tw.fill(tensor.borrow_mut()[TILE:], self.value).sync()


@dataclass(frozen=True)
class Share:
    """A tensor becomes an Arc, of which a clone is kept; or is its own again."""

    tensor: int
    shared: bool

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        """Changes nothing."""

    def run(self, world: World) -> None:
        tensor = world.tensors[self.tensor]
        if self.shared:
            world.tensors[self.tensor] = arc = tw.Arc(tensor)
            arc.clone()
        else:
            world.tensors[self.tensor] = tensor.unwrap_arc()


@dataclass(frozen=True)
class Record:
    """A graph of launches that write in place."""

    graph: int
    launches: tuple[Launch, ...]
    stream: int
    captured: bool
    """Whether it is captured as one op; else recorded in a scope."""

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        model.graphs[self.graph] = self.launches

    def run(self, world: World) -> None:
        stream = world.streams[self.stream]
        if self.captured and len(self.launches) == 1:
            world.graphs[self.graph] = self.launches[0].op(world).graph_on(stream)
            return
        with tw.CudaGraph.scope(stream) as scope:
            for launch in self.launches:
                scope.record(launch.op(world))
        world.graphs[self.graph] = scope.graph


@dataclass(frozen=True)
class Replay:
    """One run of a graph."""

    graph: int
    ending: Ending

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        for launch in model.graphs[self.graph]:
            launch.model(model, kernels)

    def run(self, world: World) -> None:
        self.ending.run(world, world.graphs[self.graph].launch())


@dataclass(frozen=True)
class Drop:
    """A graph is dropped, and futures with it; their work may be in flight."""

    graph: int | None

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        if self.graph is not None:
            del model.graphs[self.graph]

    def run(self, world: World) -> None:
        world.kept.clear()
        if self.graph is not None:
            del world.graphs[self.graph]


@dataclass(frozen=True)
class Threads:
    """Steps of several threads, which write nothing in common."""

    threads: tuple[tuple[Step, ...], ...]

    def model(self, model: Model, kernels: dict[str, Kernel]) -> None:
        """Each thread follows its steps by itself, in `run`."""

    def run(self, world: World) -> None:
        errors: list[BaseException] = []
        workers = [
            threading.Thread(target=self._follow, args=(world, steps, errors))
            for steps in self.threads
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if errors:
            raise errors[0]

    def _follow(self, world: World, steps: tuple[Step, ...], errors: list[BaseException]) -> None:
        try:
            with tw.device(world.device):
                for step in steps:
                    step.run(world)
                    step.model(world.model, world.kernels)
        except BaseException as error:
            errors.append(error)

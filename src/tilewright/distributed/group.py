"""Groups of processes: who takes part in collectives, and in which order they run."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..base.errors import DeviceError, SchedulingError
from ..devices.host_queue import HostQueue, is_gated
from ..devices.protocol import Device, Stream
from ..tensors.region import Region
from .agreement import Agreement
from .call import Call
from .errors import RankError
from .exchange import DATA, Channel, Exchange
from .pulse import Pulse, Pulses, find_gone, find_missing
from .store import Connect, Patience, Store
from .verdict import BROKEN, CLOSED, LEFT, UNREACHABLE, Verdict, publish

SPLIT = "split"
APART = ("send", "recv", SPLIT)
"""What need not come in one order with the rest."""
APART_AT_END = 2.0
"""Seconds between the ends of two ranks whose collectives have not returned."""
RETURNS = 0.5
"""Seconds in which a collective that was broken off has mostly returned."""


class Backend(Protocol):
    """What moves the data of a group."""

    @property
    def on_host(self) -> bool:
        """Whether a collective runs inside the call, on a thread of the host; else on a stream."""
        ...

    def check(self, call: Call, device: Device) -> None:
        """Raise if a collective cannot run on a device, or with such elements."""
        ...

    def refuse_capture(self, call: Call) -> None:
        """Raise if a collective cannot be part of a graph."""
        ...

    def run(
        self, call: Call, target: Region | None, source: Region | None, peer: int, stream: Stream
    ) -> None:
        """Run a collective, or enqueue it."""
        ...

    def channel(self, peer: int, sends: bool) -> Channel | None:
        """Return what carries messages between all ranks, or with a peer, to which this rank sends
        or not. None: the ranks agree in their store.
        """
        ...

    def split(self, members: Sequence[int], patience: Patience, store: Store) -> Backend:
        """Return what moves the data of some of the ranks, which meet in a store; all of these call
        it.
        """
        ...

    def abort(self) -> None:
        """Break off what is under way, as far as the engine can."""
        ...

    def close(self) -> None:
        """Let go of the process group, and end it if it was made for this; may be repeated."""
        ...


@dataclass(slots=True, eq=False)
class Run:
    """A collective under way, and its failure."""

    call: Call
    target: Region | None
    source: Region | None
    peer: int
    stream: Stream
    parts: Sequence[Region] = ()
    """The tensors that are overwritten, if these are several; they are joined in `target`, or moved
    one by one if there is none."""
    travels: bool = False
    """Whether its data travels with the messages by which the ranks agree."""
    error: Exception | None = None

    def bytes(self) -> NDArray[np.uint8]:
        """Return the bytes that this rank gives, or overwrites."""
        region = self.target if self.source is None else self.source
        assert region is not None  # a collective reads or writes
        return _bytes_of(region)

    def targets(self) -> Sequence[Region | None]:
        """Return what the engine overwrites, one after the other."""
        return self.parts if self.parts and self.target is None else (self.target,)

    def join(self) -> None:
        """Copy several tensors to the target, one behind the other."""
        for part, place in self._places():
            place[:] = part

    def divide(self) -> None:
        """Copy the target back to the tensors that it is made of."""
        for part, place in self._places():
            part[:] = place

    def _places(self) -> Generator[tuple[NDArray[np.uint8], NDArray[np.uint8]], None, None]:
        """Yield the bytes of each tensor, and their place in the target."""
        if self.target is None:
            return
        joined, begin = _bytes_of(self.target), 0
        for part in map(_bytes_of, self.parts):
            yield part, joined[begin : begin + part.size]
            begin += part.size


class Group:
    """Some processes that run collectives together, each with a rank.

    Every member starts the same collectives in the same order. They run in that order, whatever
    their streams; a message between two ranks follows only others of these two in that direction.
    """

    def __init__(
        self,
        backend: Backend,
        connect: Connect,
        rank: int,
        size: int,
        *,
        name: str = "group",
        patience: Patience | None = None,
        holder: int | None = None,
        ranks: Sequence[int] | None = None,
    ) -> None:
        """Join. `connect` gives the store in which the ranks meet, `holder` is the rank that holds
        it, where one does; `ranks` are the members of a part of another group.
        """
        self.rank = rank
        """The number of this process among the members."""
        self.size = size
        """How many members there are."""
        self.name = name
        """What messages call it."""
        self.ranks = tuple(range(size) if ranks is None else ranks)
        """Which ranks of all processes its members are."""
        self.patience = patience or Patience(300.0)
        self._backend, self._connect = backend, connect
        self._holder = holder
        self._parts: list[Group] = []
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._abandoned: list[HostQueue] = []
        """Queues whose threads may be in the engine still, after something has failed."""
        self._lock = threading.Lock()
        self._moving: dict[Run, float] = {}
        """Which collectives move data, and since when."""
        self.error: DeviceError | None = None
        """Why the group can no longer be used."""
        self._verdict: Verdict | None = None
        self._store = connect("")
        self._pulses = Pulses(self._store)
        self._pulse = Pulse(
            self._store, rank, self.patience.beat, each=self._look_around, lost=self._lose_store
        )

    @property
    def joins(self) -> bool:
        """Whether several tensors are moved as one."""
        return self._backend.on_host

    def check(self, call: Call, device: Device) -> None:
        """Raise if a collective cannot run on a device, or with such elements."""
        self._backend.check(call, device)

    def refuse_capture(self, call: Call) -> None:
        """Raise if a collective cannot be part of a graph."""
        self._backend.refuse_capture(call)

    def check_usable(self, call: Call) -> None:
        """Raise if the group was closed, or a rank is missing."""
        if self._verdict is not None:
            raise self._error(self._verdict, call)
        if self.error is not None:
            raise SchedulingError(
                f"`{call.op}` cannot run: its group is not usable any more",
                got=self.error.message,
                hint="make another with tw.distributed.init(...)",
            ) from self.error

    def refuse_rank(self, rank: int, op: str) -> None:
        """Raise for a rank that no member has."""
        given: Any = rank
        if not isinstance(given, int):
            raise TypeError(f"`{op}` takes the number of a rank, got {given!r}")
        if not 0 <= rank < self.size:
            raise SchedulingError(
                f"`{op}` names the rank {rank}, and the group has {self.size}",
                expected=f"a rank from 0 to {self.size - 1}", got=str(rank),
            )  # fmt: skip

    def split(self, label: str | int) -> Group:
        """Return the group of those members that give the same label; all members call this.

        They are ranks 0, 1, ... of it, in the order that they have here. Collectives of groups that
        have members in common run at the same time, each group in its own order.
        """
        number, said = len(self._parts) + 1, str(label)
        call = Call(SPLIT, (number,), "")
        self.check_usable(call)
        self._store.set(f"split/{number}/{self.rank}", said)
        verdict = self._lane(call, -1).agreement.find(call, self._pulse)
        if verdict is not None:
            self._fail(verdict)
            raise self._error(verdict, call)
        keys = [f"split/{number}/{rank}" for rank in range(self.size)]
        members = [rank for rank, key in enumerate(keys) if self._store.get(key).decode() == said]
        folder, holder = f"parts/{number}/{said}", self._holder
        part = Group(
            self._backend.split(members, self.patience, self._connect(f"{folder}/engine")),
            lambda name: self._connect(f"{folder}/{name}"),
            members.index(self.rank), len(members), name=f"{self.name}[{said}]",
            patience=self.patience, holder=members.index(holder) if holder in members else None,
            ranks=[self.ranks[rank] for rank in members],
        )  # fmt: skip
        self._parts.append(part)
        return part

    def stream(self, call: Call, peer: int, given: Stream) -> Stream:
        """Return the stream on which a collective runs that is started on a given one."""
        if not (self._backend.on_host and is_gated(given)):
            return given
        return self._lane(call, peer).stream(given.device)

    def put(
        self,
        call: Call,
        target: Region | None,
        source: Region | None,
        peer: int,
        stream: Stream,
        parts: Sequence[Region] = (),
    ) -> Run:
        """Enqueue a collective on a stream, behind those that were started before.

        `parts` are the tensors that it overwrites, if these are several. A target beside them is as
        large as all of them; `joins` says whether there shall be one.
        """
        run, lane = Run(call, target, source, peer, stream, parts), self._lane(call, peer)
        if self._backend.on_host:
            run.travels = lane.exchange is not None and run.bytes().size <= DATA
            move, skip = partial(self._move, run), partial(self._skip, run)
            with lane.started(run):
                if run.travels:
                    lane.queue.put(stream, partial(self._carry, run, lane), skip=skip)
                else:
                    lane.queue.put(stream, move, partial(self._agree, run, lane), skip)
        else:
            self._agree(run, lane)
            self._enqueue(run)
        return run

    def _agree(self, run: Run, lane: _Lane, data: NDArray[np.uint8] | None = None) -> None:
        """Wait until all members have come to the same collective."""
        lane.begin(run)
        if self.error is not None:
            return
        try:
            if lane.exchange is not None:
                verdict = lane.exchange.find(run.call, self._pulse, lane.following(), data)
            else:
                verdict = lane.agreement.find(run.call, self._pulse)
        except RuntimeError as error:  # of the engine
            verdict = self._why_broken(_forgotten(error))
        except Exception as error:  # such as what others have written, damaged
            verdict = Verdict(BROKEN, None, _text(error))
        if verdict is not None:
            run.error = self._error(verdict, run.call)
            self._fail(verdict)

    def _carry(self, run: Run, lane: _Lane) -> None:
        """Move data with the messages by which the members agree."""
        assert lane.exchange is not None
        run.join()
        self._agree(run, lane, run.bytes() if run.call.op != "recv" else None)
        if self.error is not None:
            self._skip(run)
        elif run.target is not None:
            lane.exchange.combine(run.call, run.target)
            run.divide()

    def _move(self, run: Run) -> None:
        """Move data by a collective of the engine."""
        if self.error is not None:
            self._skip(run)
            return
        self._moving[run] = time.monotonic()
        try:
            run.join()
            for target in run.targets():
                self._backend.run(run.call, target, run.source, run.peer, run.stream)
            run.divide()
        except Exception as error:
            verdict = self._why_broken(_forgotten(error))
            run.error = self._error(verdict, run.call, begun=True)
            run.error.__cause__ = error
            self._fail(verdict)
        finally:
            del self._moving[run]

    def _enqueue(self, run: Run) -> None:
        """Have the engine enqueue a collective, which moves data until its stream has passed it."""
        self._move(run)
        if run.stream.is_capturing:
            if run.error is not None:  # nothing reports it when the graph runs
                raise run.error
        elif run.error is None:
            self._moving[run] = time.monotonic()
            run.stream.after(lambda: (self._moving.pop(run, None), None)[1])

    def _why_broken(self, text: str) -> Verdict:
        """Return the verdict on a collective that broke off, mostly that some rank is gone.

        This asks by the connection that there is: to make one takes until `late` where the store is
        gone, and the process may end meanwhile.
        """
        try:
            found = find_gone(self._store, self._others(), self.patience)
        except RuntimeError:
            return Verdict(UNREACHABLE, self._holder, text)
        if found is None:
            return self._told(Verdict(BROKEN, None, text))
        found = self._told(found)
        return replace(found, why=f"{found.why}; {text}")

    def _told(self, verdict: Verdict) -> Verdict:
        """Publish what is wrong; return the verdict that counts, which another rank may have
        published before.
        """
        try:
            return publish(self._store, verdict)
        except RuntimeError:
            return verdict

    def _skip(self, run: Run) -> None:
        """Note that a collective did not run to its end, because of what happened to the group."""
        verdict = self._verdict or Verdict(CLOSED, self.rank, "close() was called on this rank")
        run.error = run.error or self._error(verdict, run.call, begun=run in self._moving)

    def _error(self, verdict: Verdict, call: Call, *, begun: bool = False) -> RankError:
        rank = verdict.rank
        if rank is not None and self.ranks[rank] != rank:
            why = f"{verdict.why}; rank {rank} of {self.name} is rank {self.ranks[rank]} of all"
            verdict = replace(verdict, why=why)
        return verdict.error(call, begun=begun)

    def _fail(self, verdict: Verdict) -> None:
        """Note that the group is not usable, and end what is under way: it may never return.

        When a rank lets go of its connections, what waits for it on others breaks off too. Memory
        is free to be used when its collective has returned, or after a moment.
        """
        with self._lock:
            if self.error is not None:
                return
            self._verdict, self.error = verdict, DeviceError(verdict.message(), got=verdict.why)
            lanes, moving = [*self._lanes.values()], [*self._moving]
        if not self._parts:  # which would end with it
            self._backend.abort()
        for lane in lanes:
            lane.queue.abandon(RETURNS)
            self._abandoned.append(lane.queue)
        for run in () if self._backend.on_host else moving:
            self._skip(run)

    def _look_around(self) -> None:
        """Hear what other ranks have found; look for dead ones if data has been moving for long."""
        if self.error is None:
            now = time.monotonic()
            stuck = now - min((now, *[*self._moving.values()])) > self.patience.gone
            others = self._others() if stuck else ()
            verdict = find_missing(self._store, self._pulses, others, self.patience)
            with self._lock:
                waiting = [lane.exchange for lane in self._lanes.values() if lane.exchange]
            for exchange in waiting:
                verdict = verdict or exchange.missing(self._pulses)
            if verdict is not None:
                self._fail(self._told(verdict))

    def _lose_store(self, error: Exception) -> None:
        self._fail(Verdict(UNREACHABLE, self._holder, _text(error)))

    def _others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    def _lane(self, call: Call, peer: int) -> _Lane:
        """Return the lane of a collective: one for all, but for those between two ranks."""
        key = (call.op, peer) if call.op in APART else ("", -1)
        with self._lock:
            lane = self._lanes.get(key)
            if lane is None:
                lane = self._lanes[key] = self._new_lane(*key)
        return lane

    def _new_lane(self, op: str, peer: int) -> _Lane:
        members, name, sends = tuple(range(self.size)), self.name, op == "send"
        if op == SPLIT:
            name = f"{name}/split"
        elif op:
            members = (self.rank, peer) if sends else (peer, self.rank)
            name = f"{name}:{members[0]}-{members[1]}"
        exchange, given = None, (self.rank, members, name, self.patience)
        if op != SPLIT and self.size > 1:
            channel = self._backend.channel(peer, sends)
            exchange = None if channel is None else Exchange(channel, *given)
        agreement = Agreement(self._connect(""), *given, self._holder)
        return _Lane(HostQueue(f"tilewright-{name}"), agreement, exchange)

    def close(self) -> None:
        """Leave the group once what was started has run; a group may be closed more than once."""
        self._end(math.inf)

    def leave(self) -> None:
        """Do as `close` where the process ends: break off what takes longer than a rank that is
        gone may take, and wait as long for what was broken off to return.

        Where a rank stands still, that of the others waits for each other. The first that ends lets
        all return, so ranks end one after the other, and no two at once.
        """
        self._end(self.patience.gone)
        for queue in self._abandoned:
            queue.outlast(self.patience.gone + self.rank * APART_AT_END)

    def _end(self, patience: float) -> None:
        for part in self._parts:
            part._end(patience)
        with self._lock:
            lanes = [*self._lanes.values()]
        ended = [lane.queue.close(patience) for lane in lanes]
        if not all(ended):
            why = f"it ended; its last was {self._pulse.at}"
            self._fail(self._told(Verdict(LEFT, self.rank, why)))
        with self._lock:
            self._lanes = {}
            self.error = self.error or DeviceError("the group was closed")
        self._pulse.stop()
        self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Group cannot be pickled or copied: each process joins by itself")

    def __repr__(self) -> str:
        state = "" if self.error is None else ", not usable"
        return f"Group({self.name!r}, rank {self.rank} of {self.size}{state})"


class _Lane:
    """Collectives that run one after the other, and the agreement on each."""

    __slots__ = ("_ahead", "_lock", "_streams", "agreement", "exchange", "queue")

    def __init__(self, queue: HostQueue, agreement: Agreement, exchange: Exchange | None) -> None:
        self.queue, self.agreement, self.exchange = queue, agreement, exchange
        self._ahead: deque[Run] = deque()
        """What was started, and whose turn has not come."""
        self._lock = threading.Lock()
        self._streams: dict[Device, Stream] = {}

    @contextmanager
    def started(self, run: Run) -> Generator[None, None, None]:
        """Enter a block that puts a collective into the queue: it is the next of those ahead."""
        with self._lock:
            self._ahead.append(run)
            try:
                yield
            except BaseException:
                if run in self._ahead:
                    self._ahead.remove(run)
                raise

    def begin(self, run: Run) -> None:
        """Note that the turn of a collective has come."""
        while self._ahead and self._ahead.popleft() is not run:
            pass

    def following(self) -> list[Call]:
        """Return the calls that come next, up to one whose data travels with the messages."""
        return [run.call for run in takewhile(lambda run: not run.travels, [*self._ahead])]

    def stream(self, device: Device) -> Stream:
        """Return the stream of a device on which these run."""
        found = self._streams.get(device)
        return found or self._streams.setdefault(device, device.new_stream())


def _bytes_of(region: Region) -> NDArray[np.uint8]:
    return region.array().reshape(-1).view(np.uint8)


def _forgotten(error: Exception) -> str:
    """Return the text of an error of the engine, and drop its frames: they hold connections, and
    other ranks wait until these end.
    """
    error.__traceback__ = None
    return _text(error)


def _text(error: Exception) -> str:
    """Return the kind of an error, and its first line."""
    first, *_ = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {first}"

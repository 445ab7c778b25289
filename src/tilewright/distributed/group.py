"""Groups of processes: who takes part in collectives, and in which order they run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from ..base.errors import DeviceError, SchedulingError
from ..devices.host_queue import GatedStream, HostQueue
from ..devices.protocol import Device, Stream
from ..tensors.region import Region
from .agreement import Agreement, Patience, Pulse, Store, find_gone
from .call import Call
from .errors import RankError

POINT_TO_POINT = ("send", "recv")


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

    def close(self) -> None:
        """Let go of the process group, so that it ends before the process does."""
        ...


class Run:
    """A collective under way, and its failure."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: Exception | None = None


class Group:
    """Some processes that run collectives together, each with a rank.

    Every member starts the same collectives in the same order. They run in that order, whatever
    their streams; a message between two ranks follows only others of these two in that direction.
    """

    def __init__(
        self,
        backend: Backend,
        connect: Callable[[], Store],
        rank: int,
        size: int,
        *,
        name: str = "group",
        patience: Patience | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        """Join: `connect` returns a new connection to the store in which the ranks meet."""
        self.rank, self.size, self.name = rank, size, name
        self.patience = patience or Patience(300.0)
        self._backend, self._connect, self._on_close = backend, connect, on_close
        self._pulse = Pulse(connect(), rank, self.patience.beat)
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._lock = threading.Lock()
        self.error: DeviceError | None = None
        """Why the group can no longer be used."""

    def check(self, call: Call, device: Device) -> None:
        """Raise if a collective cannot run on a device, or with such elements."""
        self._backend.check(call, device)

    def refuse_capture(self, call: Call) -> None:
        """Raise if a collective cannot be part of a graph."""
        self._backend.refuse_capture(call)

    def check_usable(self, op: str) -> None:
        """Raise if the group was closed, or a rank is missing."""
        if self.error is not None:
            raise SchedulingError(
                f"`{op}` cannot run: its group is not usable any more",
                got=self.error.message,
                hint="close the group, and make another with tw.distributed.init(...)",
            ) from self.error

    def refuse_rank(self, rank: int, op: str) -> None:
        """Raise for a rank that no member has."""
        if not 0 <= rank < self.size:
            raise SchedulingError(
                f"`{op}` names the rank {rank}, and the group has {self.size}",
                expected=f"a rank from 0 to {self.size - 1}", got=str(rank),
            )  # fmt: skip

    def stream(self, call: Call, peer: int, given: Stream) -> Stream:
        """Return the stream on which a collective runs that is started on a given one."""
        if not (self._backend.on_host and isinstance(given, GatedStream)):
            return given
        return self._lane(call, peer).stream(given.device)

    def put(
        self, call: Call, target: Region | None, source: Region | None, peer: int, stream: Stream
    ) -> Run:
        """Enqueue a collective on a stream, behind those that were started before."""
        run, lane = Run(), self._lane(call, peer)
        if self._backend.on_host:

            def move() -> None:
                self._guarded(run, call, target, source, peer, stream)

            lane.queue.put(stream, move, lambda: self._agree(run, lane, call))
        else:
            if not stream.is_capturing:
                self._agree(run, lane, call)
            self._guarded(run, call, target, source, peer, stream)
        return run

    def _agree(self, run: Run, lane: _Lane, call: Call) -> None:
        """Wait until all members have come to the same collective."""
        try:
            if self.error is None:
                lane.agreement.reach(call, self._pulse)
        except RankError as error:
            run.error = self.error = error
        except Exception as error:
            run.error = self.error = self._failure(call, error)

    def _guarded(
        self,
        run: Run,
        call: Call,
        target: Region | None,
        source: Region | None,
        peer: int,
        stream: Stream,
    ) -> None:
        if self.error is not None:
            run.error = run.error or self._failure(call, self.error)
            return
        try:
            self._backend.run(call, target, source, peer, stream)
        except Exception as error:
            run.error = self.error = self._lost(call, error)

    def _failure(self, call: Call, error: Exception) -> DeviceError:
        return RankError(
            f"`{call.op}` of rank {self.rank} did not run",
            op=call.op, got=f"{type(error).__name__}: {error}",
            hint="close the group, and make another",
        )  # fmt: skip

    def _lost(self, call: Call, error: Exception) -> DeviceError:
        """Return the error of a collective that broke off, with the rank that is gone if any is."""
        try:
            gone = find_gone(self._connect(), self.rank, self.size, self.patience)
        except RuntimeError:
            gone = None
        who = "" if gone is None else f": rank {gone} is gone"
        return RankError(
            f"`{call.op}` broke off on rank {self.rank}{who}",
            rank=gone, op=call.op, expected=f"all ranks to run {call}",
            got=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
            hint="the memory it writes is undefined; close the group, and make another",
        )  # fmt: skip

    def _lane(self, call: Call, peer: int) -> _Lane:
        direct = call.op in POINT_TO_POINT
        key = (call.op, peer) if direct else ("", -1)
        with self._lock:
            lane = self._lanes.get(key)
            if lane is None:
                lane = self._lanes[key] = self._new_lane(call.op, peer if direct else -1)
        return lane

    def _new_lane(self, op: str, peer: int) -> _Lane:
        if peer < 0:
            members, name = tuple(range(self.size)), self.name
        else:
            members = (self.rank, peer) if op == "send" else (peer, self.rank)
            name = f"{self.name}:{members[0]}-{members[1]}"
        agreement = Agreement(self._connect(), self.rank, members, name, self.patience)
        return _Lane(HostQueue(f"tilewright-{name}"), agreement)

    def close(self) -> None:
        """Leave the group once what was started has run; a group may be closed more than once."""
        with self._lock:
            lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            lane.queue.close()
        if self.error is None:
            self.error = DeviceError("the group was closed")
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            self._pulse.stop()
            self._backend.close()
            on_close()

    def leave(self) -> None:
        """Stop the pulse, so that the others see at once that this rank has left."""
        if self._on_close is not None:
            self._pulse.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def __repr__(self) -> str:
        state = "" if self.error is None else ", not usable"
        return f"Group({self.name!r}, rank {self.rank} of {self.size}{state})"


class _Lane:
    """Collectives that run one after the other, and the agreement on each."""

    __slots__ = ("_streams", "agreement", "queue")

    def __init__(self, queue: HostQueue, agreement: Agreement) -> None:
        self.queue, self.agreement = queue, agreement
        self._streams: dict[Device, Stream] = {}

    def stream(self, device: Device) -> Stream:
        """Return the stream of a device on which these run."""
        found = self._streams.get(device)
        return found or self._streams.setdefault(device, device.new_stream())

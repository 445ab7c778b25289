"""Scheduling policies: who chooses the stream for an op that names none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from threading import Lock
from typing import Protocol, TypeGuard, cast, runtime_checkable

from .._core import next_of
from ..base.errors import SchedulingError
from ..devices.foreign import ForeignStream, foreign_stream
from ..devices.protocol import Device, Stream

POOL_SIZE = 4
"""The default number of streams in a round-robin pool."""


@runtime_checkable
class SchedulingPolicy(Protocol):
    """Chooses streams; any object with this method will do. Called from any thread."""

    def next_stream(self) -> Stream:
        """Return the stream for the next op."""
        ...


class StreamPoolRoundRobin:
    """Hands out the streams of a device in turn, so that independent ops overlap."""

    __slots__ = ("_aside", "_lock", "streams", "turns")

    def __init__(self, device: Device, size: int = POOL_SIZE) -> None:
        if size < 1:
            raise SchedulingError("a pool needs streams", expected="at least 1", got=str(size))
        self.streams: Sequence[Stream] = _some_streams(device, size)
        self.turns: Iterator[Stream] = cycle(self.streams)
        self._aside: list[Stream] = []
        self._lock = Lock()

    def next_stream(self) -> Stream:
        """Return the streams in turn."""
        return next_of(self.turns)

    def set_aside(self, stream: Stream) -> None:
        """Hand out another stream in the place of one that waits for long, as for other processes.

        It comes back, in the place of another one, when it is idle.
        """
        with self._lock:
            if stream not in self.streams:
                return
            place = self.streams.index(stream)
            free = next((n for n, each in enumerate(self._aside) if each.idle()), None)
            other = stream.device.new_stream() if free is None else self._aside.pop(free)
            self._aside.append(stream)
            self.streams = [*self.streams[:place], other, *self.streams[place + 1 :]]
            self.turns = cycle([*self.streams[place + 1 :], *self.streams[: place + 1]])

    def __repr__(self) -> str:
        return f"StreamPoolRoundRobin({self.streams[0].device!r}, {len(self.streams)})"


class SingleStream:
    """Hands out one stream: all ops run in the order they are started."""

    __slots__ = ("stream",)

    def __init__(self, stream: Stream | ForeignStream) -> None:
        self.stream = as_stream(stream, "`SingleStream` takes a stream")

    def next_stream(self) -> Stream:
        """Return the one stream."""
        return self.stream

    def __repr__(self) -> str:
        return f"SingleStream({self.stream!r})"


@runtime_checkable
class SpreadingPolicy(SchedulingPolicy, Protocol):
    """A policy of several devices. Under it, ops that no tensor or name ties to one go to any."""

    def stream_on(self, device: Device) -> Stream | None:
        """Return the stream for the next op that must run on this device; None: it has none."""
        ...


class SpreadDevices:
    """Hands out streams of several devices in turn; ops on tensors go to the device of these.

    In `with tw.with_default_device_policy(policy)`, ops that name no device are made for any.
    """

    __slots__ = ("_pools", "_turns", "devices")

    def __init__(self, devices: Sequence[Device], size: int = POOL_SIZE) -> None:
        self.devices = tuple(dict.fromkeys(devices))
        if not self.devices:
            raise SchedulingError("a policy needs devices", expected="at least 1", got="none")
        self._pools = {device: StreamPoolRoundRobin(device, size) for device in self.devices}
        self._turns = cycle(self.devices)

    def next_stream(self) -> Stream:
        """Return a stream of the next device."""
        return self._pools[next_of(self._turns)].next_stream()

    def set_aside(self, stream: Stream) -> None:
        """Do as `StreamPoolRoundRobin.set_aside` with the streams of its device."""
        pool = self._pools.get(stream.device)
        if pool is not None:
            pool.set_aside(stream)

    def stream_on(self, device: Device) -> Stream | None:
        """Return the next stream of a device; None: it is none of these."""
        pool = self._pools.get(device)
        return None if pool is None else pool.next_stream()

    def __repr__(self) -> str:
        return f"SpreadDevices({list(self.devices)!r})"


def _some_streams(device: Device, size: int) -> Sequence[Stream]:
    """Return shared streams of the device, and new ones if it has too few."""
    common = device.streams()[:size]
    return [*common, *(device.new_stream() for _ in range(size - len(common)))]


_OWN_POLICIES = (StreamPoolRoundRobin, SingleStream, SpreadDevices)
_KNOWN_STREAMS: set[type] = set()
"""Classes that were found to be streams: the full comparison takes longer than a launch."""


def stream_of(policy: SchedulingPolicy, name: str, home: Device | None) -> Stream:
    """Return the stream that a policy chooses for the op `name` with tensors on `home`."""
    try:
        own = spread_stream(policy, home)
        stream = policy.next_stream() if own is None else own
    except Exception as error:
        raise SchedulingError(
            f"no stream for `{name}`: the policy {policy!r} failed",
            got=f"{type(error).__name__}: {error}",
        ) from error
    if type(policy) not in _OWN_POLICIES:
        stream = as_stream(stream, f"the policy {policy!r} did not return a stream")
    if home is not None and stream.device is not home:
        raise SchedulingError(
            f"`{name}` cannot run on {stream!r}: its tensors live on another device",
            expected=f"a stream of {home!r}",
            got=f"a stream of {stream.device!r}",
            hint="copy the tensors with .to(device), or choose a stream of their device",
        )
    return stream


def spread_stream(policy: SchedulingPolicy, home: Device | None) -> Stream | None:
    """Return the stream of a policy of several devices for an op that must run on one of them."""
    if home is None or not spreads_devices(policy):
        return None
    return policy.stream_on(home)


def spreads_devices(policy: SchedulingPolicy | None) -> TypeGuard[SpreadingPolicy]:
    """Return whether ops may go to several devices by this policy."""
    return policy is not None and hasattr(type(policy), "stream_on")


def as_stream(stream: Stream | ForeignStream, rule: str) -> Stream:
    """Return a stream of ours, also for one of another library; raise, with the rule that it
    breaks, for anything else.
    """
    if type(stream) in _KNOWN_STREAMS:
        return cast("Stream", stream)
    if isinstance(stream, Stream):
        _KNOWN_STREAMS.add(type(stream))
        return stream
    found = foreign_stream(stream)
    if found is None:
        raise SchedulingError(
            rule,
            expected="a Stream, or an object with __cuda_stream__",
            got=type(stream).__name__,
            hint="make one: tw.default_device().new_stream()",
        )
    return found

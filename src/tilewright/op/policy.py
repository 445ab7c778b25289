"""Scheduling policies: who chooses the stream for an op that names none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Protocol, cast, runtime_checkable

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

    __slots__ = ("streams", "turns")

    def __init__(self, device: Device, size: int = POOL_SIZE) -> None:
        if size < 1:
            raise SchedulingError("a pool needs streams", expected="at least 1", got=str(size))
        self.streams: Sequence[Stream] = _some_streams(device, size)
        self.turns: Iterator[Stream] = cycle(self.streams)

    def next_stream(self) -> Stream:
        """Return the streams in turn."""
        return next(self.turns)

    def __repr__(self) -> str:
        return f"StreamPoolRoundRobin({self.streams[0].device!r}, {len(self.streams)})"


class SingleStream:
    """Hands out one stream: all ops run in the order they are started."""

    __slots__ = ("stream",)

    def __init__(self, stream: Stream | ForeignStream) -> None:
        self.stream = as_stream(stream, "the caller of SingleStream")

    def next_stream(self) -> Stream:
        """Return the one stream."""
        return self.stream

    def __repr__(self) -> str:
        return f"SingleStream({self.stream!r})"


def _some_streams(device: Device, size: int) -> Sequence[Stream]:
    """Return shared streams of the device, and new ones if it has too few."""
    common = device.streams()[:size]
    return [*common, *(device.new_stream() for _ in range(size - len(common)))]


_OWN_POLICIES = (StreamPoolRoundRobin, SingleStream)
_KNOWN_STREAMS: set[type] = set()
"""Classes that were found to be streams: the full comparison takes longer than a launch."""


def stream_of(policy: SchedulingPolicy, name: str, home: Device | None) -> Stream:
    """Return the stream that a policy chooses for the op `name` with tensors on `home`."""
    try:
        stream = policy.next_stream()
    except Exception as error:
        raise SchedulingError(
            f"no stream for `{name}`: the policy {policy!r} failed",
            got=f"{type(error).__name__}: {error}",
        ) from error
    if type(policy) not in _OWN_POLICIES:
        stream = as_stream(stream, f"the policy {policy!r}")
    if home is not None and stream.device is not home:
        raise SchedulingError(
            f"`{name}` cannot run on {stream!r}: its tensors live on another device",
            expected=f"a stream of {home!r}",
            got=f"a stream of {stream.device!r}",
            hint="copy the tensors with .to(device), or choose a stream of their device",
        )
    return stream


def as_stream(stream: Stream | ForeignStream, giver: str) -> Stream:
    """Return a stream of ours, also for one of another library; raise for anything else."""
    if type(stream) in _KNOWN_STREAMS:
        return cast("Stream", stream)
    if isinstance(stream, Stream):
        _KNOWN_STREAMS.add(type(stream))
        return stream
    found = foreign_stream(stream)
    if found is None:
        raise SchedulingError(
            f"{giver} did not return a stream",
            expected="a Stream, or an object with __cuda_stream__",
            got=type(stream).__name__,
        )
    return found

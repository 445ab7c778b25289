"""Measures ops: one that is rebuilt for each sample, or several candidates in turn."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

from ..base.showing import grid
from ..devices.protocol import Stream, TimedStream
from ..op.ambient import choose_stream
from ..op.core import DeviceOp, is_op
from ..op.policy import SingleStream

Factory: TypeAlias = Callable[[], DeviceOp[Any]]
"""Builds an op that does the work once; an op is used once, so each repetition needs its own."""

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


_HEAD = ("", "median", "least", "rounds", "building", "of the fastest")


def _row(timing: Timing, best: float) -> tuple[object, ...]:
    seconds = _said(timing.median), _said(timing.min)
    building = _said(_median(timing.building))
    return (timing.name, *seconds, len(timing.seconds), building, f"{timing.median / best:.2f} x")


@dataclass(frozen=True)
class Timing:
    """How long an op took, round by round."""

    name: str
    seconds: tuple[float, ...]
    """From the start to the end of the work, by the clock of the device if it has its own."""
    building: tuple[float, ...]
    """What it took to build the op before."""

    @property
    def min(self) -> float:
        """The shortest round, in seconds."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The round in the middle, in seconds."""
        return _median(self.seconds)

    def _repr_html_(self) -> str:
        return grid("bench", _HEAD, [_row(self, self.median)])

    def __repr__(self) -> str:
        building = _said(_median(self.building))
        return (
            f"{self.name}: median {_said(self.median)}, min {_said(self.min)}"
            f" ({len(self.seconds)} rounds; building {building})"
        )


@dataclass(frozen=True)
class Comparison:
    """Candidates that were measured in turn, so that what disturbed one disturbed all."""

    timings: tuple[Timing, ...]

    def __getitem__(self, name: str) -> Timing:
        """Return the candidate of that name."""
        found = {timing.name: timing for timing in self.timings}
        if name not in found:
            raise KeyError(f"{name!r}; there are {', '.join(found)}")
        return found[name]

    @property
    def fastest(self) -> Timing:
        """The candidate with the least median."""
        return min(self.timings, key=lambda timing: timing.median)

    def _repr_html_(self) -> str:
        best = self.fastest.median
        return grid("bench", _HEAD, [_row(timing, best) for timing in self.timings])

    def __repr__(self) -> str:
        best = self.fastest.median
        return "\n".join(f"{timing!r}, {timing.median / best:.2f} x" for timing in self.timings)


@overload
def bench(
    factory: Factory, /, *, rounds: int = 30, warmup: int = 3, stream: Stream | None = None
) -> Timing: ...
@overload
def bench(
    factory: Mapping[str, Factory],
    /,
    *,
    rounds: int = 30,
    warmup: int = 3,
    stream: Stream | None = None,
) -> Comparison: ...
def bench(
    factory: Factory | Mapping[str, Factory],
    /,
    *,
    rounds: int = 30,
    warmup: int = 3,
    stream: Stream | None = None,
) -> Timing | Comparison:
    """Measure the ops that a factory builds: `tw.bench(lambda: add(z.partition_mut(s), x, y))`.

    Several candidates, given by name, take turns. Each op is run to its end, on `stream` if given,
    after `warmup` rounds that do not count: there kernels are compiled. The CPU is timed by the
    clock of the host, a GPU by its own: from just before the op's first work to behind its last.
    """
    _refuse_counts(rounds, warmup)
    if callable(factory):
        name = getattr(factory, "__name__", type(factory).__name__)
        return _measure({name: factory}, rounds, warmup, stream)[0]
    return Comparison(_measure(factory, rounds, warmup, stream))


def _refuse_counts(rounds: int, warmup: int) -> None:
    if rounds < 1 or warmup < 0:
        raise ValueError(f"bench needs rounds >= 1 and warmup >= 0, got {rounds} and {warmup}")


def _measure(
    factories: Mapping[str, Factory], rounds: int, warmup: int, stream: Stream | None
) -> tuple[Timing, ...]:
    if not factories:
        raise ValueError("bench got no candidates")
    for _ in range(warmup):
        for name, factory in factories.items():
            _once(name, factory, stream)
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in factories}
    with _no_garbage_collection():
        for _ in range(rounds):
            for name, factory in factories.items():
                samples[name].append(_once(name, factory, stream))
    return tuple(
        Timing(name, tuple(run for _, run in taken), tuple(build for build, _ in taken))
        for name, taken in samples.items()
    )


def _once(name: str, factory: Factory, stream: Stream | None) -> tuple[float, float]:
    """Return the seconds to build an op, and to run it; its result is dropped after that."""
    begun = time.perf_counter()
    op = factory()
    built = time.perf_counter()
    if not is_op(op):
        raise TypeError(
            f"the factory {name!r} must build an op, got {type(op).__name__};"
            " leave out the .sync() at its end"
        )
    return built - begun, _run(op, stream or choose_stream(name, op.home))


def _run(op: DeviceOp[Any], stream: Stream) -> float:
    """Return seconds to run an op; its result is dropped after the clock is read."""
    if isinstance(stream, TimedStream) and not stream.device.host_visible:
        begun = stream.stamp()
        future = op.schedule(SingleStream(stream))
        done = stream.stamp()
        future.result()
        stream.synchronize()
        return done.since(begun)
    start = time.perf_counter()
    result = op.sync_on(stream)
    end = time.perf_counter()
    del result
    return end - start


@contextmanager
def _no_garbage_collection() -> Generator[None, None, None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _median(numbers: Sequence[float]) -> float:
    """Return the median, as `statistics` does, whose import is slower than this package's."""
    low, high = (len(numbers) - 1) // 2, len(numbers) // 2
    ordered = sorted(numbers)
    return (ordered[low] + ordered[high]) / 2


def _said(seconds: float) -> str:
    scale, unit = next(((s, u) for s, u in _UNITS if seconds >= s), _UNITS[-1])
    return f"{seconds / scale:.3g} {unit}"

"""Runs one row in one shape and type: contestants are checked, tuned and timed in turns."""

from __future__ import annotations

import gc
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

from tilewright.tune.race import race

from .. import peers
from ..case import NotAvailable
from ..gpu.case import Entry
from ..gpu.timing import ROUNDS, Clock, best, interleave
from ..records import figures
from . import memory
from .case import (
    COMPILED,
    COPY,
    NUMBA,
    PLAIN,
    TORCH,
    TRITON,
    TUNED,
    Call,
    Data,
    Row,
    Setting,
    Shape,
    Tensor,
)
from .cpu import CpuClock
from .data import nbytes, poison
from .record import Record

QUICK_ROUNDS = 2
Contestants: TypeAlias = "dict[str, Callable[[], list[Runner]]]"


@dataclass(frozen=True, slots=True)
class Runner:
    """One way to do the work, with one setting."""

    run: Callable[[], Any]
    read: Callable[[], Sequence[Tensor]]
    """Returns the results of the last run."""
    spoil: Callable[[], object]
    setting: str = ""
    predicted: Callable[[], float | None] = lambda: None
    """What the model of our compiler says of it; only where it can say something."""


def contest(
    row: Row, shape: Shape, dtype: str, device: str, without: Sequence[str] = (),
    rounds: int = ROUNDS,
) -> Record:  # fmt: skip
    """Check, tune and time."""
    data = row.make(shape, dtype, device)
    record = Record(
        row.name, row.family, row.held_out, shape, dtype, data.moved or nbytes_of(data), data.flops
    )
    expected = expected_of(row, data)
    clock: Any = Clock(cold=True) if device == "cuda" else CpuClock()
    turns = interleave if device == "cuda" else clock.interleave
    chosen: dict[str, Entry] = {}
    for name, make in contestants(row, data, device).items():
        if name in without:
            continue
        try:
            right = _right(make(), row, data, dtype, expected, record, name)
            runner = _raced(right, clock) if name == TUNED else _fastest(right, clock)
            chosen[name] = Entry(runner.run, None, runner.setting)
            record.settings[name] = runner.setting
            if device == "cuda" and (predicted := runner.predicted()) is not None:
                record.predicted[name] = predicted
        except NotAvailable as reason:
            record.absent[name] = str(reason)
        except Exception as error:  # whatever it is, the others go on and the report shows it
            record.absent[name] = _short(error)
    timed = turns(chosen, clock, rounds) if chosen else {}
    record.figures.update({name: figures(times) for name, times in timed.items()})
    release(device)
    return record


def warm_up(row: Row, shape: Shape, dtype: str, device: str, without: Sequence[str]) -> None:
    """Run each setting once of all that compile, so that their code is kept on disk."""
    for name, make in contestants(row, row.make(shape, dtype, device), device).items():
        if name in (*without, TORCH, NUMBA, COPY):  # numba keeps no code
            continue
        with suppress(Exception):  # the contest itself will tell
            for runner in make():
                with suppress(Exception):
                    runner.run()
    release(device)


def release(device: str) -> None:
    """Let go of all memory."""
    memory.forget()
    gc.collect()
    if device == "cuda":
        peers.torch().cuda.synchronize()
        peers.torch().cuda.empty_cache()


def contestants(row: Row, data: Data, device: str) -> Contestants:
    """Those who take part on a device."""
    found: Contestants = {
        PLAIN: partial(ours, row, data, data.ours, device),
        TUNED: partial(ours, row, data, data.combinations(), device),
        TORCH: lambda: [_torch(row.eager, data)],
        COMPILED: lambda: [_torch(compiled(row), data)],
    }
    if device == "cuda":
        found[TRITON] = partial(_triton, row, data)
        found[COPY] = lambda: [_copy(data)]
    else:
        found[NUMBA] = partial(_numba, row, data)
    return found


def ours(row: Row, data: Data, space: Sequence[Setting], device: str) -> list[Runner]:
    """Our kernel in each setting, launched as users launch it."""
    theirs = (*data.outs, *data.scratch)
    given = [memory.ours(t, device) for t in (*theirs, *data.inputs)]

    def run(setting: Setting) -> None:
        for each in row.launches(*given, **setting):
            memory.start(each.op(), device)

    def spoil() -> None:
        for tensor, mine in zip(theirs, given, strict=False):
            memory.refill(mine, poison(tensor), device)

    def read() -> Sequence[Tensor]:
        for tensor, mine in zip(data.outs, given, strict=False):
            memory.fetch(tensor, mine, device)
        return data.outs

    def predicted(setting: Setting) -> float | None:
        calls = [each for each in row.launches(*given, **setting) if isinstance(each, Call)]
        found = [speed(each.kernel.compile(*each.args, **each.constants)) for each in calls]
        return min((each for each in found if each is not None), default=None)

    return [
        Runner(partial(run, each), read, spoil, _text(each), partial(predicted, each))
        for each in space
    ]


SPEED = re.compile(r"(?:^resources|\(.*chosen\)): .*; can reach (\d+)% of the bandwidth")


def speed(artifact: Any) -> float | None:
    """The speed that the model allows the code that was chosen."""
    found = [SPEED.search(line) for line in artifact.candidates]
    return next((int(each[1]) / 100 for each in found if each is not None), None)


def _triton(row: Row, data: Data) -> list[Runner]:
    function = row.in_triton()
    arguments = (*data.outs, *data.scratch, *data.inputs)
    return [
        Runner(
            partial(function, *arguments, **setting), lambda: data.outs,
            lambda: [poison(t) for t in (*data.outs, *data.scratch)], _text(setting),
        )
        for setting in data.triton
    ]  # fmt: skip


def _torch(function: Callable[..., Any], data: Data) -> Runner:
    def read() -> Sequence[Tensor]:
        return results(function(*data.inputs))

    return Runner(lambda: function(*data.inputs), read, lambda: None)


def _numba(row: Row, data: Data) -> list[Runner]:
    given = (*data.outs, *data.inputs)
    if any(getattr(t, "dtype", None) == peers.torch().bfloat16 for t in given):
        raise NotAvailable("numba has no bf16")
    function = _jit(row)
    arrays = [t.numpy() if hasattr(t, "numpy") else t for t in given]
    spoil = lambda: [poison(t) for t in data.outs]  # noqa: E731
    return [Runner(lambda: function(*arrays), lambda: data.outs, spoil)]


def _copy(data: Data) -> Runner:
    lib = peers.torch()
    half = max(1, int((data.moved or nbytes_of(data)) / 2))
    source, target = (lib.empty(half, dtype=lib.uint8, device="cuda") for _ in range(2))
    return Runner(lambda: target.copy_(source), lambda: data.outs, lambda: None)


_JIT: dict[str, Callable[..., Any]] = {}


def _jit(row: Row) -> Callable[..., Any]:
    """The loops of a row, compiled by numba: once for all shapes."""
    if row.name not in _JIT:
        _JIT[row.name] = peers.jit(row.in_numba())
    return _JIT[row.name]


_COMPILED: dict[str, Callable[..., Any]] = {}


def compiled(row: Row) -> Callable[..., Any]:
    """The function of a row, compiled by torch: for each shape again."""
    if row.name not in _COMPILED:
        _COMPILED[row.name] = peers.compiled(row.eager)
    return _COMPILED[row.name]


def nbytes_of(data: Data) -> float:
    """Bytes of all arguments, each moved once."""
    return nbytes(*data.inputs, *data.outs)


def results(value: Any) -> tuple[Tensor, ...]:
    """One result or several, as several."""
    return tuple(cast("Sequence[Tensor]", value)) if isinstance(value, tuple | list) else (value,)


def expected_of(row: Row, data: Data) -> tuple[Tensor, ...]:
    """The results from inputs of a wider type: f64 on the CPU, f32 on a GPU, where f64 is slow."""
    lib = peers.torch()
    wider = lib.float64 if data.outs[0].device.type == "cpu" else lib.float32

    def wide(value: Any) -> Any:
        floating = hasattr(value, "dtype") and value.dtype.is_floating_point
        return value.to(wider) if floating and row.wide else value

    convolutions, kept = lib.backends.cudnn, lib.backends.cudnn.allow_tf32
    convolutions.allow_tf32 = False
    try:
        return results(row.eager(*(wide(each) for each in data.inputs)))
    finally:
        convolutions.allow_tf32 = kept


def deviation(found: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    """The largest error, in parts of the largest number of the result it is in."""
    worst = 0.0
    for mine, right in zip(found, expected, strict=True):
        if mine.shape != right.shape:
            return math.nan
        limit = float(right.double().abs().max()) if right.numel() < 1 << 27 else float(
            right.abs().max()
        )  # fmt: skip
        wide = right.double() if right.numel() < 1 << 27 else right.float()
        error = float((mine.to(wide.dtype) - wide).abs().max()) / max(limit, 1e-30)
        if not error <= worst:
            worst = error
    return worst


def allowed(row: Row, dtype: str) -> float:
    """The largest error, in parts of the largest number."""
    return row.exact if dtype in ("float32", "int32") else row.tolerance


def error_of(row: Row, data: Data, found: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    """The error of results, by the row's own rule if it has one."""
    return row.check(found, data.inputs) if row.check else deviation(found, expected)


def _right(
    runners: list[Runner], row: Row, data: Data, dtype: str,
    expected: Sequence[Tensor], record: Record, name: str,
) -> list[Runner]:  # fmt: skip
    """Those settings that run and whose results are right; raises if there is none."""
    found: list[Runner] = []
    problem: Exception | None = None
    for runner in runners:
        try:
            _verify(runner, row, data, dtype, expected, record, name)
            found.append(runner)
        except Exception as error:
            problem = error
            record.absent[f"{name} {runner.setting}".strip()] = _short(error)
    if not found and problem is not None:
        record.absent.pop(f"{name} {runners[-1].setting}".strip(), None)
        raise problem
    return found


def _verify(
    runner: Runner, row: Row, data: Data, dtype: str,
    expected: Sequence[Tensor], record: Record, name: str,
) -> None:  # fmt: skip
    if name == COPY:
        return
    runner.spoil()
    runner.run()
    error = error_of(row, data, runner.read(), expected) / allowed(row, dtype)
    record.errors[name] = max(error, record.errors.get(name, 0.0))
    if not error <= 1:
        raise ValueError(f"its error is {error:.3g} times what is allowed")


def _fastest(runners: list[Runner], clock: Any) -> Runner:
    entries = [Entry(r.run, r, r.setting) for r in runners]
    chosen: Runner = (clock.best if hasattr(clock, "best") else partial(_best, clock))(entries).out
    return chosen


def _raced(runners: list[Runner], clock: Any) -> Runner:
    """Return what the tuner chooses: candidates race, and leave as soon as they cannot win."""
    ranked = race(len(runners), lambda number: clock.now(runners[number].run) / 1e3)
    return runners[ranked[0].number]


def _best(clock: Clock, entries: Sequence[Entry]) -> Entry:
    return best(entries, clock)


def _text(setting: Setting) -> str:
    return ", ".join(f"{name}={_brief(value)}" for name, value in setting.items())


def _brief(value: int | str | tuple[int, ...]) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]

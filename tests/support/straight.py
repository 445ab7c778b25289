"""Straight programs on integers, drawn at random: as a kernel of scalars, which analyses read, and
as one of tiles, which the reference runs for every launch of a small space and every block of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from support.ir import Kernel, checked, poisoned
from support.launch_space import GRID, SPACE, TILE, X0, X1, M, N, Z, form_value
from tilewright.analysis.bounds.proofs import Linear
from tilewright.analysis.bounds.symbolic_range import SymbolicRange, SymbolicSpan
from tilewright.base.dtypes import AnyDType, f32, i8, i16, i32, u8
from tilewright.ir.attrs import Predicate, Rounding
from tilewright.ir.core import Func, Value

Array = np.ndarray[Any, np.dtype[Any]]

CHOSEN: Array = np.flatnonzero((SPACE[X1] == 1) & np.isin(SPACE[Z], (1, 5, 9)))
"""The launches that are run: programs do not see the other leaves, but for the grid."""
BLOCKS = int(SPACE[GRID].max())
LAUNCHES = len(CHOSEN)
RUNS: Array = np.arange(BLOCKS)[None, :] < SPACE[GRID][CHOSEN][:, None]
"""Which blocks run, by launch."""
_POINTS = 1 << (LAUNCHES * BLOCKS - 1).bit_length()

PAIRS = ("addi", "subi", "muli", "maxi", "mini", "andi", "ori", "xori", "shli", "shri")
DIVISIONS = ("divi", "remi")
NAMES = (*PAIRS, "addi", "subi", "muli", *DIVISIONS * 3, "negi", "absi", "select", "noti")
"""Ops that keep their type; those with most to prove are drawn most."""
CASTS: dict[AnyDType, tuple[tuple[str, AnyDType], ...]] = {
    i8: (("exti", i16), ("exti", i32), ("bitcast", u8)),
    u8: (("exti", i16), ("exti", i32), ("bitcast", i8)),
    i16: (("trunci", i8), ("trunci", u8), ("exti", i32)),
    i32: (("trunci", i8), ("trunci", u8), ("trunci", i16)),
}
SMALL = (-3, -2, -1, 0, 1, 2, 3, 4, 5, 8, 64, 100, 127, -128)


class Step(NamedTuple):
    """One op: which of the values so far it takes, counted from the last of their type."""

    name: str
    a: int
    b: int
    way: int


NEAR = st.integers(0, 3)
PROGRAMS = st.lists(
    st.builds(Step, st.sampled_from((*NAMES, "cast", "constant", "constant")), NEAR, NEAR,
              st.integers(0, 13)),
    min_size=1, max_size=6,
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A kernel, its values in order, and what each is in all launches and blocks."""

    func: Func
    values: list[Value]
    computed: list[Array]


def built(
    k: Kernel, leaves: Sequence[Value], steps: Sequence[Step], dtype: AnyDType
) -> list[Value]:
    """The values of a program; those of one step fewer are a prefix."""
    shape = leaves[0].tile.shape

    def constant(n: int, dtype: AnyDType) -> Value:
        made = k.constant(n, dtype)
        return k.broadcast(made, shape) if shape else made

    values = [*leaves, *(k.emit("exti", v, to=i32) for v in leaves[:2])]
    for step in steps:
        same = [v for v in values if v.tile.dtype is dtype][::-1]
        a, b = same[step.a % len(same)], same[step.b % len(same)]
        if step.name == "cast":
            word, to = CASTS[dtype][step.way % len(CASTS[dtype])]
            values.append(k.emit(word, a, to=to))
            dtype = to
        elif step.name == "constant":
            n = SMALL[step.way]
            values.append(constant(abs(n) % 256 if dtype is u8 else n, dtype))
        elif step.name == "select":
            cond = k.emit("cmpi", a, b, predicate=tuple(Predicate)[step.way % 6])
            values.append(k.emit("select", cond, b, a))
        elif step.name in ("negi", "absi", "noti"):
            values.append(k.emit(step.name, a))
        else:
            values.append(k.emit(step.name, a, b, **_rounding(step)))
    return values


def _rounding(step: Step) -> dict[str, Rounding]:
    ways = {
        "divi": (Rounding.NEG_INF, Rounding.POS_INF, Rounding.ZERO),
        "remi": (Rounding.NEG_INF, Rounding.ZERO),
    }.get(step.name)
    return {"rounding": ways[step.way % len(ways)]} if ways else {}


def scalars() -> tuple[Kernel, list[Value]]:
    """A kernel without ops, and what programs start with: n, m, an extent, the block."""
    k = Kernel(grid_rank=1)
    k.output("z", f32, 1, (TILE,))
    x = k.tensor("x", f32, 2)
    n, m = k.scalar("n", i8), k.scalar("m", i8)
    return k, [n, m, k.emit("extent", x, axis=0), k.block_id(0)]


def program(steps: Sequence[Step], dtype: AnyDType = i8) -> Program:
    """Build a program and run it everywhere.

    It starts with values of i8: n, m; or of i32: an extent, the block, n and m.
    """
    k, leaves = scalars()
    values = built(k, leaves, steps, dtype)
    return Program(k.finish(), values, _computed(tuple(steps), dtype))


@cache
def _inputs() -> tuple[tuple[AnyDType, Array], ...]:
    block = np.broadcast_to(np.arange(BLOCKS), (LAUNCHES, BLOCKS))
    spread = [np.repeat(SPACE[leaf][CHOSEN][:, None], BLOCKS, 1) for leaf in (N, M, X0)]
    flat = [np.resize(a.ravel(), _POINTS) for a in (*spread, block)]
    return tuple(
        (dtype, a.astype(dtype.np)) for dtype, a in zip((i8, i8, i32, i32), flat, strict=True)
    )


@cache
def _computed(steps: tuple[Step, ...], dtype: AnyDType) -> list[Array]:
    k = Kernel(grid_rank=1)
    inputs = _inputs()
    params = [k.tensor(f"x{i}", dtype, 1) for i, (dtype, _) in enumerate(inputs)]
    leaves = [k.load(p, (_POINTS,)) for p in params]
    values = built(k, leaves, steps, dtype)
    results = [poisoned(v.tile.dtype, v.tile.shape) for v in values]
    for i, v in enumerate(values):
        k.store(v, k.output(f"z{i}", v.tile.dtype, 1), tile=v.tile.shape)
    checked(k.finish(), [*(a for _, a in inputs), *results])
    return [a[: LAUNCHES * BLOCKS].reshape(LAUNCHES, BLOCKS).astype(np.int64) for a in results]


# --- what analyses claim --------------------------------------------------------------------------


def of_launches(form: Linear) -> Array:
    """A form in each launch that is run."""
    return form_value(form)[CHOSEN][:, None]


def assert_bounds(known: SymbolicRange, computed: Array, runs: Array) -> None:
    """Each bound of a value holds wherever it `runs`."""
    for low in known.lows:
        assert np.all((of_launches(low) <= computed) | ~runs), f"{low} is no lower bound"
    for high in known.highs:
        assert np.all((computed <= of_launches(high)) | ~runs), f"{high} is no upper bound"


def assert_span(span: SymbolicSpan, computed: Array, runs: Array, *, occurs: bool = True) -> None:
    """A range holds wherever what it needs does; ends that are exact occur in every launch."""
    for need in span.needs:
        runs = runs & (of_launches(need) >= 0)
    assert_bounds(SymbolicRange((span.low,), (span.high,)), computed, runs)
    if span.point is not None:
        assert np.all((of_launches(span.point) == computed) | ~runs), "it is another number"
    if not occurs:
        return
    launched = runs.any(axis=1)
    first = np.take_along_axis(computed, runs.argmax(axis=1)[:, None], axis=1)
    # Blocks that do not run are as if they computed what one that runs does.
    seen = np.where(runs, computed, first)[launched]
    low, high = of_launches(span.low)[launched, 0], of_launches(span.high)[launched, 0]
    if span.exact:
        assert np.all(seen.min(axis=1, initial=2**40) == low), "the least value never occurs"
        assert np.all(seen.max(axis=1, initial=-(2**40)) == high), "the greatest never occurs"
    if span.dense:
        kinds = 1 + (np.diff(np.sort(seen, axis=1), axis=1) > 0).sum(axis=1)
        assert np.all(kinds == high - low + 1), "there are gaps"

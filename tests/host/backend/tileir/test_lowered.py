"""Whole kernels as the Tile IR they become: decisions and options change code, but no result.

The kernels are those of the benchmarks, over shapes that no tile divides; what the Tile IR does is
compared with the reference interpreter. Numbers are small integers where sums of them are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from fuzz.wild.kept import kept
from fuzz.wild.running import AGREES, judge
from support.cuda import cuda_ir, lowered
from support.simulated_cuda import do_without_assembler
from tilewright.backend.tileir.bytecode.enums import VERSIONS, Version
from tilewright.backend.tileir.bytecode.program import program_text
from tilewright.base.dtypes import AnyDType, bf16, f16, f32, i8, i32

OPTIONS: dict[str, tw.CompileOptions | None] = {
    "plain": None,
    "no bulk copies": tw.CompileOptions(allow_tma=False),
    "fast paths": tw.CompileOptions(whole_first=True, allow_tma=False),
    "no fast paths": tw.CompileOptions(whole_first=False),
    "launch order": tw.CompileOptions(block_group=1),
    "groups of 2": tw.CompileOptions(block_group=2),
    "exact functions": tw.CompileOptions(needed_precision=False),
    "little divides": tw.CompileOptions(max_divisibility=4),
    "hints": tw.CompileOptions(occupancy=2, num_worker_warps_per_cta=8, latency=3),
}


class Case(NamedTuple):
    """A kernel, and how it is launched."""

    kernel: Any
    shape: tuple[int, ...]
    tile: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]
    numbers: tuple[float, ...] = ()
    constants: dict[str, Any] = {}  # noqa: RUF012
    groups: tuple[int, ...] | None = None
    tolerance: float = 0.0
    """Of the largest number; nothing where sums are exact."""


ATTENTION = ((2, 37, 16), (1, 8, 16), ((2, 37, 16),) * 3, (0.25,))
CASES: dict[str, Case] = {
    "add": Case(kernels.add, (37,), (8,), ((37,), (37,))),
    "softmax": Case(kernels.softmax, (5, 19), (2, 32), ((5, 19),), tolerance=4e-3),
    "rms_norm": Case(kernels.rms_norm, (5, 19), (1, 32), ((5, 19), (19,)), (1e-5,), {}, None, 8e-3),
    "layer_norm": Case(
        kernels.layer_norm, (5, 19), (1, 32), ((5, 19), (19,), (19,)), (1e-5,), {}, None, 8e-3
    ),
    "transpose": Case(kernels.transpose, (19, 37), (8, 16), ((37, 19),)),
    "gemm": Case(kernels.gemm, (37, 19), (8, 8), ((37, 21), (21, 19)), (), {"BK": 8}),
    "persistent": Case(
        kernels.persistent_gemm, (37, 19), (8, 8), ((37, 21), (21, 19)), (), {"BK": 8}, (2, 1)
    ),
    "batched": Case(
        kernels.batch_gemm, (3, 17, 19), (1, 8, 8), ((3, 17, 21), (3, 21, 19)), (), {"BK": 8}
    ),
    "attention": Case(
        kernels.attention, *ATTENTION, {"BN": 16, "LAST": 8}, None, tolerance=8e-3
    ),
    "causal": Case(
        kernels.attention, *ATTENTION, {"BN": 16, "LAST": 8, "CAUSAL": True}, None, tolerance=8e-3
    ),
}  # fmt: skip


def launched(case: Case, dtype: AnyDType, arrays: list[Any], options: Any, device: Any) -> Any:
    """Run a case; what it leaves alone is poison."""
    with tw.device(device):
        z = tw.from_numpy(np.full(case.shape, np.nan, np.float32).astype(dtype.np)).sync()
        part: Any = z.partition_mut(case.tile)
        if case.groups is not None:
            part = part.map(case.groups, 3)
        op = case.kernel(part, *arrays, *case.numbers, **case.constants)
        (op if options is None else op.compile_options(options)).sync()
        return z.to_numpy().astype(np.float64)


def inputs(case: Case, dtype: AnyDType, rng: np.random.Generator) -> list[Any]:
    return [rng.integers(-3, 4, shape).astype(np.float32).astype(dtype.np) for shape in case.inputs]


MATTER: dict[str, tuple[str, ...]] = {
    "add": ("plain", "fast paths", "little divides"),
    "softmax": ("plain", "fast paths", "no fast paths", "exact functions"),
    "rms_norm": ("plain", "no fast paths"),
    "layer_norm": ("plain", "fast paths"),
    "transpose": ("plain", "no bulk copies", "launch order"),
    "gemm": ("plain", "no bulk copies", "fast paths", "launch order", "groups of 2", "hints"),
    "persistent": ("plain", "no bulk copies"),
    "batched": ("plain", "groups of 2", "little divides"),
    "attention": ("plain", "no bulk copies"),
    "causal": ("plain", "launch order", "exact functions", "no fast paths"),
}
"""Options that change the code of a kernel."""


@pytest.mark.thinned(12)
@pytest.mark.parametrize("simulated_gpu", ["sm_90"], indirect=True)
@pytest.mark.parametrize(("name", "options"), [(n, o) for n in CASES for o in MATTER[n]])
def test_options_change_no_result(
    name: str, options: str, simulated_gpu: Any, rng: np.random.Generator
) -> None:
    case = CASES[name]
    dtype = f16 if name in ("softmax", "add") else bf16
    arrays = inputs(case, dtype, rng)
    expected = launched(case, dtype, arrays, None, "reference")
    found = launched(case, dtype, arrays, OPTIONS[options], simulated_gpu)
    assert np.isfinite(expected).all()
    limit = case.tolerance * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=limit)


@pytest.mark.parametrize("simulated_gpu", ["sm_100"], indirect=True)
@pytest.mark.parametrize("name", ["add", "softmax", "gemm", "causal"])
def test_wider_floats(name: str, simulated_gpu: Any, rng: np.random.Generator) -> None:
    case = CASES[name]
    arrays = inputs(case, f32, rng)
    expected = launched(case, f32, arrays, None, "reference")
    found = launched(case, f32, arrays, None, simulated_gpu)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


DECIDED: dict[str, Callable[[str], bool]] = {
    "causal": lambda text: "run first: they have the longest loops" in text,
    "gemm": lambda text: "groups" in text,
    "softmax": lambda text: "as exp2" in text,
}


@pytest.mark.parametrize("name", DECIDED)
def test_the_kernels_have_what_is_decided(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above are about: without it they would compare the same code."""
    do_without_assembler(monkeypatch.setattr)
    case = CASES[name]
    dtype = f16 if name == "softmax" else bf16
    part = tw.meta(case.shape, dtype).partition_mut(case.tile)
    arrays = [tw.meta(shape, dtype) for shape in case.inputs]
    text = str(case.kernel.explain(part, *arrays, *case.numbers, device="sm_90", **case.constants))
    assert DECIDED[name](text), text


@pytest.mark.parametrize("simulated_gpu", ["sm_90"], indirect=True)
def test_kernels_that_once_failed(simulated_gpu: Any) -> None:
    for name, program in kept().items():
        verdict = judge(program, simulated_gpu)
        assert verdict.kind == AGREES, f"{name}: {verdict}"


# --- texts ---------------------------------------------------------------------------------------


@tw.entry
def reporting(z: tl.TensorMut[f32], x: tl.Tensor[f32], where: tl.Tensor[i32], n: i32) -> None:
    """What tells the host something: an index from data, an assertion, prints."""
    tile = x.partition((8,)).load([where.load_tile((1,), 0).item()])
    total = tl.reduce_sum(tile, 0)
    assert total > 0.0, "nothing to add"
    print("total", total, n)
    print(f"{tile:.3f}")
    z.store(tile * _twice(total))


def _twice(x: Any) -> Any:
    return x + x


@tw.entry
def combining(z: tl.TensorMut[i32], x: tl.Tensor[i8], n: i32) -> None:
    """Reductions and scans of integers, arms of truth values, long counts of short types."""
    row = x.load_tile((512,), [tl.block_id(0)])
    low = tl.reduce_min(row, 0, keepdims=True)
    found = tl.reduce_sum(row.astype(i32), 0, keepdims=True) + low.astype(i32)
    large = row > low
    if n > 3:
        large = row < tl.arange(512).astype(i8)
    counted = tl.reduce_sum(large.astype(i32), 0, keepdims=True)
    z.store(found + counted * tl.cumsum(tl.full((1,), 1, i32), 0))


def meta(case: Case, dtype: AnyDType = bf16) -> tuple[Any, ...]:
    part: Any = tw.meta(case.shape, dtype).partition_mut(case.tile)
    if case.groups is not None:
        part = part.map(case.groups, 3)
    return (part, *(tw.meta(shape, dtype) for shape in case.inputs), *case.numbers)


@pytest.mark.parametrize("name", CASES)
def test_text(name: str, golden: Callable[..., None]) -> None:
    case = CASES[name]
    golden(program_text(lowered(cuda_ir(case.kernel, *meta(case), **case.constants)).program), name)


def test_text_of_reports(golden: Callable[..., None]) -> None:
    part, x = tw.meta((16,), f32).partition_mut((8,)), tw.meta((24,), f32)
    golden(program_text(lowered(cuda_ir(reporting, part, x, tw.meta((1,), i32), 1)).program))


@pytest.mark.filterwarnings("ignore::tilewright.base.errors.PaddingWarning")
def test_text_of_reductions(golden: Callable[..., None]) -> None:
    part = tw.meta((2,), i32).partition_mut((1,))
    golden(program_text(lowered(cuda_ir(combining, part, tw.meta((1000,), i8), 1)).program))


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_text_of_every_version(version: Version, golden: Callable[..., None]) -> None:
    made = lowered(cuda_ir(kernels.add, *meta(CASES["add"])), version=version)
    golden(program_text(made.program), "version-" + ".".join(map(str, version)))

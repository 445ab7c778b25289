"""Native code of AArch64, run under emulation: bit for bit what the reference computes.

It is compiled always, and run in the full tier where there is an emulator.
"""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.emulated import AARCH64, ARMV8, Emulated, is_possible
from support.native import Case, Dense, Native, case, kernel_of
from support.numbers import assert_same, fresh_rng
from support.tiles import tile_arguments, tile_program
from tilewright import f32, i32
from tilewright.backend.cpu.stages import compile_func
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import FLOATS, INTS
from tilewright.compile.pipeline import compile_kernel
from tilewright.compile.runner import Runner
from tilewright.ir.ops.elementwise import MATH_OPS

TARGETS = pytest.mark.parametrize("cpu", [AARCH64, ARMV8], ids=lambda cpu: cpu.name)
emulated = pytest.mark.skipif(not is_possible(), reason="no emulator or compiler of AArch64")
ELF_AARCH64 = 183


def agree(func, arguments, grid, cpu):
    """The reference and the emulated machine leave the same in all arrays."""
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in "ab")
    report = Emulated(func, cpu)(mine, grid)
    outcome = run(func, theirs, grid)
    assert (report.failure is None) == (outcome.failure is None)
    for got, wanted in zip(mine, theirs, strict=True):
        if isinstance(got, np.ndarray):
            assert_same(got, wanted)
    return report


@TARGETS
def test_code_is_that_of_the_machine(cpu):
    code = compile_func(tile_program(0, Dense), cpu).code
    assert code[:4] == b"\x7fELF" and code[18] == ELF_AARCH64


@pytest.mark.full
@emulated
@TARGETS
@pytest.mark.parametrize("seed", range(25))
def test_random_programs(cpu, seed):
    seed += int(fresh_rng().integers(0, 2**31))
    agree(tile_program(seed, Dense), tile_arguments(seed), (1, 1, 1), cpu)


@pytest.mark.full
@emulated
@TARGETS
@pytest.mark.parametrize(
    "dtype", [t for t in FLOATS if t.name in ("f16", "bf16", "f32", "f64")], ids=str
)
def test_functions(cpu, dtype):
    rng = fresh_rng()
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5]
    a = np.concatenate([special, rng.normal(0, 3, 24)])
    b = np.concatenate([rng.normal(0, 3, 24), special])
    cases = [
        Case(op.name) for op in MATH_OPS if len(op.operands) <= 2 and op.operands[0].arity != "*"
    ]
    func, arrays, outputs = kernel_of(cases, [(dtype, a), (dtype, b)])
    mine, theirs = ([a.copy() for a in outputs] for _ in range(2))
    Emulated(func, cpu)([*arrays, *mine])
    Native(func)([*arrays, *theirs])  # the reference computes some of them in another way
    for op, got, wanted in zip(cases, mine, theirs, strict=True):
        print(op.name)
        assert_same(got, wanted)


@pytest.mark.full
@emulated
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integers(dtype):
    info = np.iinfo(dtype.np)
    rng = fresh_rng()
    a, b = (rng.integers(info.min, info.max, 32, dtype.np, endpoint=True) for _ in range(2))
    a[:4], b[:4] = (info.min, info.max, 0, 1), (1, 1, 3, info.max)
    cases = [case(name) for name in ("addi", "subi", "muli", "maxi", "mini", "andi", "ori", "xori")]
    func, arrays, outputs = kernel_of(cases, [(dtype, a), (dtype, b)])
    agree(func, [*arrays, *outputs], (1,), AARCH64)


@tw.entry
def gemm(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int] = 16) -> None:
    px = x.partition((z.shape[0], BK), padding=0)
    py = y.partition((BK, z.shape[1]), padding=0)
    acc = tl.zeros(z.shape, f32)
    i, j = tl.block_id(0), tl.block_id(1)
    for k in range(px.num_tiles(1)):
        acc = tl.mma(px.load([i, k]), py.load([k, j]), acc)
    z.store(acc.astype(z.dtype))


@tw.entry
def softmax(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.softmax(tl.load_tile_like(x, z, padding=float("-inf")), 1))


@tw.entry
def histogram(counts: tl.Accumulator[i32, tl.Dyn], x: tl.Tensor) -> None:
    tile = x.load_tile((64,), [tl.block_id(0)], padding=-1)
    counts.add(1, tile, clip=True)


@tw.entry
def checked(z: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, z)
    assert tl.reduce_min(tile, 0) >= 0.0, "negative"
    print("sum", tl.reduce_sum(tile, 0))
    z.store(tile)


class Keep(Runner):
    """A compilation that keeps the IR as code generators get it."""

    __slots__ = ("func",)

    def verified(self, name, func):
        self.func = func
        return super().verified(name, func)


def func_of(kernel, *args):
    """The IR of a kernel for such arguments, after all passes."""
    runner = Keep("kernel", store=None)
    signature = kernel.inspection(args, {}, "cpu").signature
    compile_kernel(kernel.kernel.captured, signature, "cpu", runner)
    return runner.func


@pytest.mark.full
@emulated
@TARGETS
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (33, 70, 19), (1, 1, 1)])
@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_products(cpu, m, n, k, dtype):
    rng = fresh_rng()
    x, y = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
    z = np.full((m, n), np.nan, "f4")
    target = tw.meta((m, n)).partition_mut((32, 32))
    func = func_of(gemm, target, tw.meta(x.shape, x.dtype), tw.meta(y.shape, y.dtype))
    Emulated(func, cpu)([z, x, y], target.grid)
    np.testing.assert_allclose(z, x.astype("f8") @ y.astype("f8"), rtol=2e-3, atol=2e-3)


@pytest.mark.full
@emulated
@TARGETS
def test_softmax_of_rows(cpu):
    x = fresh_rng().normal(0, 4, (37, 100)).astype("f4")
    z = np.full_like(x, np.nan)
    target = tw.meta(x.shape).partition_mut((8, 128))
    Emulated(func_of(softmax, target, tw.meta(x.shape)), cpu)([z, x], target.grid)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(z, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)


@pytest.mark.full
@emulated
def test_atomics_of_two_threads():
    x = fresh_rng().integers(0, 7, 4000).astype("i4")
    counts = np.zeros(7, "i4")
    func = func_of(histogram, tw.meta((7,), i32).borrow_mut(), tw.meta(x.shape, i32))
    Emulated(func, AARCH64)([counts, x], (-(-len(x) // 64),))
    assert counts.tolist() == np.bincount(x, minlength=7).tolist()


@pytest.mark.full
@emulated
@pytest.mark.filterwarnings("ignore::tilewright.PaddingWarning")
@TARGETS
def test_failures_and_prints(cpu):
    x = np.arange(64, dtype="f4")
    x[40] = -1
    z = np.full_like(x, np.nan)
    target = tw.meta(x.shape).partition_mut((16,))
    report = Emulated(func_of(checked, target, tw.meta(x.shape)), cpu)([z, x], target.grid)
    assert report.failure is not None and report.failure.block[0] == 2
    sums = {p.block[0]: float(p.values[0]) for p in report.printed}
    assert {b: sums[b] for b in (0, 1)} == {b: x[16 * b :][:16].sum() for b in (0, 1)}

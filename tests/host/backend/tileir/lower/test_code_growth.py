"""Loops whose copies would be too much code are bounded, and mean the same."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks.gpu.meta import CALLS
from support.cuda import cuda_ir, lowered
from support.tile_ir import instr
from tilewright.backend.tileir.bytecode.program import InstructionRegion, program_text
from tilewright.backend.tileir.bytecode.types import F32, INDEX, TileValueType
from tilewright.backend.tileir.lower import code_growth
from tilewright.base.dtypes import f16, f32, i64
from tilewright.base.source import SourceFile, Span


def first(x, i, y, j):
    """The better of two elements with their places, of equal ones the first."""
    wins = (x > y) | ((x != x) & (y == y)) | (~((y > x) | ((y != y) & (x == x))) & (i < j))
    return tl.where(wins, x, y), tl.where(wins, i, j)


@tw.entry
def argmax_rows(z: tl.TensorMut[i64], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    p = x.partition((8, 128), padding=float("-inf"))
    best, at = tl.full((8,), float("-inf"), f32), tl.zeros((8,), i64)
    for j in range(tl.num_tiles(p, 1)):
        t = p.load([tl.block_id(0), j])
        m = t.max(axis=1)
        better = m > best
        places = tl.broadcast(tl.arange(128)[None, :], (8, 128))
        _, where = tl.reduce((t, places), 1, (float("-inf"), 2**31 - 1), first)
        at = tl.where(better, where.astype(i64) + j * 128, at)
        best = tl.where(better, m, best)
    z.store(at)


@tw.entry
def sines(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], *, N: tl.Const[int]) -> None:
    t = tl.zeros(z.shape, f32)
    for j in range(N):
        t = t * 0.5 + tl.sin(x.load_tile(z.shape, [j]))
    z.store(t)


@tw.entry
def taps(
    z: tl.TensorMut[f16],
    x: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    w: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    *,
    K: tl.Const[int],
) -> None:
    view = tl.make_gather_scatter_view(x, (64, 32), 0, padding=0)
    rows = tl.arange(64) + tl.block_id(0) * 64
    acc = tl.zeros((64, 64), f32)
    for i in range(K):
        for j in range(K):
            tile = w.load_tile((32, 64), [i * K + j, tl.block_id(1)])
            acc = tl.mma(view.load([rows + i * 56 + j, 0]), tile, acc)
    z.store(acc.astype(f16))


@tw.entry
def unrolled_taps(
    z: tl.TensorMut[f16],
    x: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    w: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    *,
    K: tl.Const[int],
) -> None:
    view = tl.make_gather_scatter_view(x, (64, 32), 0, padding=0)
    rows = tl.arange(64) + tl.block_id(0) * 64
    acc = tl.zeros((64, 64), f32)
    for i in tl.static_range(K):
        for j in tl.static_range(K):
            tile = w.load_tile((32, 64), [i * K + j, tl.block_id(1)])
            acc = tl.mma(view.load([rows + i * 56 + j, 0]), tile, acc)
    z.store(acc.astype(f16))


@tw.entry
def unrolled(
    z: tl.TensorMut[f16],
    x: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    w: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    *,
    K: tl.Const[int],
) -> None:
    """Copies that cannot be a loop: their shifts do not grow evenly."""
    acc = tl.zeros((64, 64), f32)
    for k in tl.static_range(K):
        pixels = tl.sin(x.load_tile((64, 32), [tl.block_id(0), k * k % K]))
        acc = tl.mma(pixels, w.load_tile((32, 64), [k, tl.block_id(1)]), acc)
    z.store(acc.astype(f16))


def growth(made):
    """The lines that tell of loops."""
    return [re.sub(r" \(.*", "", line) for line in made.decisions.lines if line.startswith("loop ")]


def argmax(columns, **hints):
    args = tw.meta((33,), i64).partition_mut((8,)), tw.meta((33, columns))
    return lowered(cuda_ir(argmax_rows, *args), **hints)


def sum_of_sines(count, length=1024):
    args = tw.meta((2048,)).partition_mut((length,)), tw.meta((1 << 20,))
    return lowered(cuda_ir(sines, *args, N=count))


def convolution(size, channels):
    out, x = tw.meta((3136, 64), f16).partition_mut((64, 64)), tw.meta((3136, channels), f16)
    return lowered(cuda_ir(taps, out, x, tw.meta((size * size * 32, 64), f16), K=size))


def test_rows_that_begin_anywhere_are_not_pipelined_where_that_is_much_code():
    made = argmax(1001, async_loads=False)
    assert growth(made) == ["loop not pipelined: 10 copies of about 21 KiB"]
    assert "latency = 10" in program_text(made.program)
    others = argmax(1000, async_loads=False)
    assert growth(others) == []
    assert "latency" not in program_text(others.program)


def test_asynchronous_loads_begin_as_early_as_their_code_permits():
    """Each iteration that they begin earlier is a copy of the body."""
    for columns, latency in ((1000, 3), (1001, 2)):
        assert f"latency = {latency}" in program_text(argmax(columns).program)
    assert "latency = 6" in program_text(argmax(1001, latency=6).program)


def test_what_the_caller_asks_for_is_done():
    made = argmax(1001, latency=2)
    assert growth(made) == []
    assert "latency = 2" in program_text(made.program)


def hides(made):
    return program_text(made.program).count("get_tile_block_id") - 1


@pytest.mark.parametrize(("count", "hidden"), [(1, 0), (2, 0), (3, 1), (15, 1), (16, 0), (64, 0)])
def test_loops_of_few_iterations_are_unrolled_if_that_is_little_code(count, hidden):
    made = sum_of_sines(count)
    said = f"loop not unrolled: {count} iterations of about 13 KiB"
    assert hides(made) == hidden
    assert (said in growth(made)) == bool(hidden)


def test_a_large_loop_of_two_iterations_is_not_unrolled():
    found = growth(sum_of_sines(2, length=4096))
    assert found[0] == "loop not unrolled: 2 iterations of about 52 KiB"


def test_small_bodies_are_unrolled():
    assert growth(sum_of_sines(9, length=128)) == []


def test_of_nested_loops_the_inner_ones_are_measured_first():
    assert growth(convolution(5, 61)) == [
        "loop not unrolled: 5 iterations of about 9 KiB",
        "loop not unrolled: 5 iterations of about 18 KiB",
    ]
    assert growth(convolution(1, 61)) == []


@pytest.mark.parametrize("name", CALLS)
def test_kernels_that_were_measured_stay_as_they_are(name):
    call = CALLS[name]
    assert growth(lowered(cuda_ir(call.kernel, *call.arguments(), **call.constants))) == []


@pytest.mark.parametrize("columns", [1, 127, 128, 129, 1001])
def test_bounded_loops_mean_the_same(columns, simulated_gpu):
    x = np.random.default_rng(columns).permutation(33 * columns).reshape(33, columns)
    with tw.device("cuda"):
        z = tw.full((33,), -7, i64).sync()
        argmax_rows(z.partition_mut((8,)), x.astype(np.float32)).sync()
        assert np.array_equal(z.to_numpy(), x.argmax(axis=1))


@pytest.mark.parametrize("count", [1, 3, 12, 17])
def test_hidden_counts_are_the_counts(count, simulated_gpu):
    x = np.random.default_rng(count).standard_normal(1024 * count).astype(np.float32)
    results = []
    for device in ("cuda", "reference"):
        with tw.device(device):
            z = tw.full((2048,), float("nan")).sync()
            sines(z.partition_mut((1024,)), x, N=count).sync()
            results.append(z.to_numpy())
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("copies", [3, 25])
def test_a_loop_is_suggested_for_many_copies(copies):
    z, x = tw.meta((64, 64), f16).partition_mut((64, 64)), tw.meta((64, 32 * copies), f16)
    made = lowered(cuda_ir(unrolled, z, x, tw.meta((32 * copies, 64), f16), K=copies))
    lines = [line for line in made.decisions.lines if "static_range" in line]
    expected = r"25 copies of unrolled code, about \d+ KiB in all: `range` instead of `static"
    assert len(lines) == (copies == 25)
    assert all(re.match(expected, line) for line in lines)
    assert [line for line in made.decisions.lines if re.search(f", {copies} times$", line)]


def test_copies_that_are_one_loop_again_are_named():
    """Of two loops the outer one, with all of its copies."""
    out, x = tw.meta((3136, 64), f16).partition_mut((64, 64)), tw.meta((3136, 61), f16)
    made = lowered(cuda_ir(unrolled_taps, out, x, tw.meta((25 * 32, 64), f16), K=5))
    (line,) = [line for line in made.decisions.lines if "copies of" in line]
    assert re.match(r"25 copies of unrolled code are one loop \(", line)


@pytest.mark.parametrize("simulated_gpu", ["sm_90"], indirect=True)
def test_copies_that_are_one_loop_again_mean_the_same(simulated_gpu):
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((500, 61), (25 * 32, 64)))
    found = []
    for device in ("cuda", "reference"):
        with tw.device(device):
            z = tw.zeros((128, 64), f16).sync()
            unrolled_taps(z.partition_mut((64, 64)), x, w, K=5).sync()
            found.append(z.to_numpy())
    np.testing.assert_array_equal(*found)
    assert found[0].any()


class Measured:
    """A loop whose body has so many instructions for each thread, and the emitter it is told to."""

    def __init__(self, once, count=None, *, loads=0, latency=0, streamed=False, sine=False):
        kind = TileValueType(F32, (128,))
        (given,) = instr("constant", [kind], value=bytes(4)).results
        names = ["load_ptr_tko"] * loads + ["sin"] * sine
        at = 6 * loads + 100 * sine
        self.loads = []
        made = []
        for name in names:
            hints = {"sm_90": {"latency": latency}} if latency else None
            attrs = {"optimization_hints": hints} if name in code_growth.LOADS else {}
            made.append(instr(name, [kind], [given], **attrs))
            if name in code_growth.LOADS:
                self.loads.append(made[-1])
        made += [instr("absf", [kind], given) for _ in range(once - at)]
        self.body = InstructionRegion((), made)
        numbers = [0, count or 0, 1]
        bounds = [
            instr("constant", [INDEX], value=n.to_bytes(4, "little")).results[0] for n in numbers
        ]
        makers = {
            value: instr("constant", [INDEX], value=n.to_bytes(4, "little"))
            for value, n in zip(bounds, numbers, strict=True)
        }
        self.em = SimpleNamespace(
            decisions=SimpleNamespace(hints={}), target=SimpleNamespace(arch="sm_90"), notes=[],
            makers=makers if count is not None else {}, loop_sizes={}, vectors={},
            streamed=set(self.loads) if streamed else set(),
        )  # fmt: skip
        loop = SimpleNamespace(span=None)
        self.upper = bounds[1]
        code_growth.bounded(self.em, loop, bounds, self.body)

    @property
    def size(self):
        """The instructions that the loop counts for, with its copies."""
        return self.em.loop_sizes[self.body]

    @property
    def latency(self):
        """By how many iterations its loads begin early."""
        (found,) = {code_growth._latency(self.em, load) for load in self.loads}
        return found


@pytest.mark.parametrize(
    ("given", "size", "latency"),
    [
        # Without loads there are no copies but those of unrolling: up to 4 iterations, 2048 in all.
        ({"once": 700}, 700, None),
        ({"once": 512, "count": 4}, 2048, None),
        ({"once": 300, "count": 5}, 300, None),
        ({"once": 900, "count": 1}, 900, None),
        # Loads are pipelined: ten copies, 8192 in all; 45 of a loop that branches.
        ({"once": 819, "loads": 1}, 8190, 0),
        ({"once": 820, "loads": 1}, 820, 10),
        ({"once": 820, "loads": 1, "latency": 3}, 8200, 3),
        ({"once": 182, "loads": 1, "sine": True}, 45 * 182, 0),
        ({"once": 183, "loads": 1, "sine": True}, 183, 10),
        ({"once": 136, "loads": 2, "count": 15}, 2040, 0),
        ({"once": 120, "loads": 2, "count": 16}, 1200, 0),
        # Asynchronous loads begin as early as 4096 instructions permit; one copy for each.
        ({"once": 400, "loads": 1, "latency": 3, "streamed": True}, 1600, 3),
        ({"once": 1024, "loads": 2, "latency": 3, "streamed": True}, 4096, 3),
        ({"once": 1025, "loads": 2, "latency": 3, "streamed": True}, 3075, 2),
        ({"once": 5000, "loads": 1, "latency": 3, "streamed": True}, 10000, 1),
    ],
)
def test_what_a_loop_counts_for(given, size, latency):
    made = Measured(**given)
    assert made.size == size
    assert latency is None or made.latency == latency
    assert made.em.notes == ([made.em.notes[0]] if latency == 10 else [])


@pytest.mark.parametrize(
    ("bounds", "count"),
    [
        ((0, 5, 1), 5), ((-3, 4, 2), 4), ((-3, 5, 2), 4), ((5, 0, 1), 0), ((0, -1, 1), 0),
        ((0, 5, -1), 0), ((0, 5, 0), 0), ((7, 7, 3), 0),
    ],
)  # fmt: skip
def test_constant_bounds_are_counted(bounds, count):
    made = [instr("constant", [INDEX], value=n.to_bytes(4, "little", signed=True)) for n in bounds]
    em = SimpleNamespace(makers={each.results[0]: each for each in made})
    assert code_growth._iterations(em, [each.results[0] for each in made]) == count
    em.makers.popitem()
    assert code_growth._iterations(em, [each.results[0] for each in made]) == 0


@pytest.mark.parametrize(
    ("copies", "size", "is_said"),
    [(4, 1024, False), (4, 1025, True), (3, 4000, False), (5, 900, True)],
)
def test_repetition_is_noted_from_so_much_code_on(copies, size, is_said):
    """A line of four copies and more, of more than 4096 instructions in all."""
    kind = TileValueType(F32, (128 * size,))
    place = Span(SourceFile("file.py", "text"), 7, 0, 7, 4)
    (given,) = instr("constant", [kind], value=bytes(4)).results
    made = [instr("absf", [kind], given) for _ in range(copies)]
    for each in made:
        each.span = place
    em = SimpleNamespace(
        decisions=SimpleNamespace(hints={}), target=SimpleNamespace(arch="sm_90"), notes=[],
        makers={}, loop_sizes={}, vectors={},
    )  # fmt: skip
    code_growth.note_repetition(em, InstructionRegion((), made))
    assert bool(em.notes) == is_said
    assert all(note.startswith(f"{copies} copies of unrolled code") for note in em.notes)


@pytest.mark.parametrize(
    ("size", "text"), [(1, "about 1 KiB"), (127, "about 1 KiB"), (128, "about 2 KiB")]
)
def test_sizes_are_shown_in_kibibytes(size, text):
    assert code_growth._kib(size) == text

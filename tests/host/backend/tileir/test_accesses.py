"""How memory is reached: as tiles or element by element, in bulk, under masks, how far ahead."""

from __future__ import annotations

from collections import Counter

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from support.cuda import cuda_ir, lowered
from support.decided import copied, copy, product
from tilewright import f32
from tilewright.backend.tileir.bytecode.enums import V13_3


def test_one_shot_copies_are_not_bulk_copies():
    assert [a.allow_tma for a in copied((4, 64)).accesses.values()] == [False, False]
    assert [a.allow_tma for a in copied((4, 64), allow_tma=True).accesses.values()] == [True, True]


def test_products_may_use_bulk_copies():
    assert {a.allow_tma for a in product((16, 16)).accesses.values()} == {None}


def test_old_architectures_have_none():
    assert {a.allow_tma for a in copied((4, 64), "sm_80").accesses.values()} == {None}


def test_visits_load_far_ahead():
    z = tw.meta((4096, 4096), tw.bf16)
    func = cuda_ir(kernels.persistent_gemm, z.partition_mut((128, 256)).map((8, 1), 132), z, z)
    for codegen_hints, expected in (({}, 6), ({"latency": 2}, 2)):
        accesses = lowered(func, **codegen_hints).decisions.accesses
        assert {a.latency for op, a in accesses.items() if op.name == "load_view"} == {expected}
    assert {a.latency for a in product((16, 16)).accesses.values()} == {None}


def test_rows_that_begin_anywhere_are_read_under_a_mask():
    odd, even = tw.meta((4095, 4095), tw.bf16), tw.meta((4095, 4096), tw.bf16)
    func = cuda_ir(kernels.gemm, even.partition_mut((128, 256)), odd, odd)
    found = lowered(func).decisions.accesses
    assert [(op.one("view").view.tensor.param, a.masked) for op, a in found.items()] == [
        ("x", True), ("y", True), ("z", False)
    ]  # fmt: skip
    assert not any(a.masked for a in lowered(func, whole_first=True).decisions.accesses.values())
    beside_bulk_copies = cuda_ir(kernels.gemm, even.partition_mut((128, 256)), odd, even)
    assert not any(a.masked for a in lowered(beside_bulk_copies).decisions.accesses.values())


@tw.entry(unsafe=True)
def by_pointers(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn], y: tl.Ptr[f32]) -> None:
    rows, columns = tl.arange(32).reshape(32, 1), tl.arange(32).reshape(1, 32)
    acc = tl.zeros((32, 32), f32)
    for k in range(x.partition((32, 32)).num_tiles(1)):
        i, _, _ = tl.get_tile_block_id()
        other = tl.load_ptr(y + ((k * 32 + rows) * 64 + columns))
        acc = tl.mma(x.load_tile((32, 32), (i, k)), other, acc)
    z.store(acc)


def test_loops_that_load_by_addresses_have_no_bulk_copies():
    z, x = tw.meta((64, 32)), tw.meta((64, 64))
    with tw.unsafe():
        func = cuda_ir(by_pointers, z.partition_mut((32, 32)), x, z.device_pointer())
    found = lowered(func).decisions.accesses
    (load,) = [a for op, a in found.items() if op.name.startswith("load_view")]
    assert load.masked and load.allow_tma is None
    with tw.unsafe():
        made = lowered(func, async_loads=False).decisions.accesses
    (load,) = [a for op, a in made.items() if op.name.startswith("load_view")]
    assert not load.masked and load.allow_tma is False


@tw.entry
def reshaped(
    z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, *, A: tl.Const[tuple[int, int]],
    B: tl.Const[tuple[int, int]], LOOP: tl.Const[bool] = False,
) -> None:  # fmt: skip
    acc = tl.zeros(z.shape, z.dtype)
    for k in range(tl.num_tiles(x.partition(A), 1) if LOOP else 1):
        a, b = x.load_tile(A, (0, k)), y.load_tile(B, (0, k))
        acc = acc + a.reshape(z.shape[0], z.shape[0]) @ b.reshape(z.shape[0], z.shape[0])
    z.store(acc)


def read(dtype, a, b, arch="sm_90", *, codegen_hints=None, **constants):
    """How two reshaped factors are read: by addresses or not, in bulk or not."""
    size = int((a[0] * a[1]) ** 0.5)
    x, y = tw.meta((64, 64), dtype), tw.meta((64, 64), dtype)
    z = tw.meta((size, size), tw.i32 if dtype is tw.i8 else f32).partition_mut((size, size))
    func = cuda_ir(reshaped, z, x, y, A=a, B=b, **constants)
    found = lowered(func, arch=arch, **(codegen_hints or {})).decisions.accesses
    return [(c.masked, c.allow_tma) for op, c in found.items() if op.name == "load_view"]


def test_reshaped_factors_are_read_by_address_where_they_are_not_copied_in_bulk():
    """Read through views, elements that lie apart would be taken for neighbours."""
    by_address, in_bulk = (True, None), (False, None)
    assert read(tw.i8, (2, 8), (2, 8)) == [by_address] * 2  # rows of 8 bytes
    assert read(tw.i8, (8, 2), (1, 16)) == [by_address, in_bulk]
    assert read(tw.f16, (2, 8), (8, 2)) == [in_bulk, by_address]
    assert read(f32, (2, 8), (1, 16)) == [in_bulk] * 2
    assert read(f32, (2, 8), (1, 16), "sm_80") == [by_address] * 2
    assert read(f32, (2, 8), (1, 16), codegen_hints={"allow_tma": False}) == [by_address] * 2


def test_a_loop_that_reads_one_reshaped_factor_by_address_reads_all_so():
    assert read(tw.i8, (8, 2), (1, 16), LOOP=True) == [(True, None)] * 2


def test_offsets_of_very_large_tensors_have_no_mask():
    """They do not fit in 31 bits."""
    z, y = tw.meta((1 << 17, 257), tw.bf16), tw.meta(((1 << 15) + 1, 257), tw.bf16)
    func = cuda_ir(
        kernels.gemm, z.partition_mut((128, 256)), tw.meta((1 << 17, (1 << 15) + 1), tw.bf16), y
    )
    found = lowered(func).decisions.accesses
    assert [a.masked for op, a in found.items() if op.name == "load_view"] == [False, True]


def test_whole_tiles_as_asked_for():
    assert [a.whole_first for a in copied((4, 64)).accesses.values()] == [True, False]
    assert not any(a.whole_first for a in copied((4, 64), whole_first=False).accesses.values())
    assert not any(a.whole_first for a in product((16, 16)).accesses.values())


def test_stores_are_whole_where_one_question_is_asked_for_all():
    for length, expected in ((8192, [True, True]), (4096, [False, False])):
        x = tw.meta((64, length), tw.bf16)
        found = lowered(cuda_ir(kernels.softmax, x.partition_mut((1, length)), x)).decisions
        assert [a.whole_first for a in found.accesses.values()] == [True, False]
        assert [a.versioned for a in found.accesses.values()] == expected


@tw.entry
def row_sums(z: tl.TensorMut[f32], x: tl.Tensor, *, BN: tl.Const[int] = 512) -> None:
    xs = x.partition((z.shape[0], BN))
    total = tl.zeros(z.shape, f32)
    for k in range(xs.num_tiles(1)):
        total = total + tl.reduce_sum(xs.load([tl.block_id(0), k]).astype(f32), 1)
    z.store(total)


def streams(columns=4096, arch="sm_90", *, kernel=row_sums, **codegen_hints):
    z, x = tw.meta((64,)), tw.meta((64, columns), tw.bf16)
    made = lowered(cuda_ir(kernel, z.partition_mut((8,)), x), arch=arch, **codegen_hints)
    return next(a for op, a in made.decisions.accesses.items() if op.name == "load_view")


def test_loads_of_loops_are_asynchronous():
    load = streams()
    assert load.masked and load.streamed and load.versioned
    assert (load.vector, load.latency) == (8, 3)
    assert streams(4095).vector == 1, "rows begin anywhere"
    assert streams(latency=5).latency == 5
    assert streams(arch="sm_80").streamed
    assert not streams(async_loads=False).streamed
    assert not streams(whole_first=False).versioned


@tw.entry
def row_sines(z: tl.TensorMut[f32], x: tl.Tensor) -> None:
    xs = x.partition((z.shape[0], 512))
    total = tl.zeros(z.shape, f32)
    for k in range(xs.num_tiles(1)):
        total = total + tl.reduce_sum(tl.sin(xs.load([tl.block_id(0), k]).astype(f32)), 1)
    z.store(total)


def test_loops_of_long_functions_do_not_wait_for_loads():
    assert not streams(kernel=row_sines).streamed


@tw.entry
def gathered(
    z: tl.TensorMut, x: tl.Tensor, rows: tl.Tensor, w: tl.Tensor, *, BK: tl.Const[int] = 64
) -> None:
    view = tl.make_gather_scatter_view(x, (z.shape[0], BK), 0, padding=0)
    index, ws = rows.load_tile((z.shape[0],), [tl.block_id(0)]), w.partition((BK, z.shape[1]))
    acc = tl.zeros(z.shape, f32)
    for k in range(ws.num_tiles(0)):
        acc = tl.mma(view.load([index, k * BK]), ws.load([k, tl.block_id(1)]), acc)
    z.store(acc.astype(z.dtype))


def test_beside_gathered_rows_tiles_are_read_by_addresses():
    """Bulk copies are not safe there, and others wait for each load."""
    x, rows = tw.meta((4096, 4096), tw.bf16), tw.meta((4096,), tw.i32)
    func = cuda_ir(gathered, x.partition_mut((128, 128)), x, rows, x)
    made = lowered(func).decisions
    _, view, tile, _ = made.accesses.values()
    assert view.view is None
    assert tile.masked and tile.vector == 8
    assert any("loaded by its warps" in line for line in made.lines)


def test_older_assemblers_cannot_promise_whole_tiles():
    z = tw.meta((4096, 4096))
    made = lowered(cuda_ir(copy, z.partition_mut((4, 64)), z), version=V13_3)
    assert not any(a.whole_first for a in made.decisions.accesses.values())


@tw.entry(unsafe=True)
def reckless(z: tl.TensorMut, x: tl.Tensor, n: tw.i32) -> None:
    parts = z.partition_mut((4,))
    tile = x.partition((4,)).load_unchecked([n])
    parts.store_unchecked(tile, [n])
    parts.store_unchecked(tile, [1])


def test_what_nobody_checked_is_accessed_element_by_element():
    z = tw.meta((64,))
    with tw.unsafe():
        func = cuda_ir(reckless, z.partition_mut((8,)), z, 3)
    load, outside, inside = lowered(func).decisions.accesses.values()
    assert load.view is None and outside.view is None and inside.view is not None


@tw.entry
def quantized(z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, *, BK: tl.Const[int] = 64) -> None:
    i, j, _ = tl.get_tile_block_id()
    xs, ws = x.partition((z.shape[0], BK)), w.partition((BK, z.shape[1]))
    acc = tl.zeros(z.shape, f32)
    for k in range(ws.num_tiles(0)):
        acc = tl.mma(xs.load([i, k]), ws.load([k, j]).astype(x.dtype), acc)
    z.store(acc.astype(z.dtype))


def test_loads_begin_early_where_an_operand_is_converted():
    """The assembler would wait for each."""
    x = tw.meta((4096, 4096), tw.bf16)
    for dtype, expected in ((tw.i8, {3}), (tw.bf16, {None})):
        func = cuda_ir(quantized, x.partition_mut((128, 128)), x, tw.meta((4096, 4096), dtype))
        found = lowered(func).decisions.accesses
        assert {a.latency for op, a in found.items() if op.name == "load_view"} == expected


@tw.entry
def taps(z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor) -> None:
    n, total = z.shape[0], tl.zeros(z.shape, f32)
    for k in tl.static_range(3):
        window = x.load_at((tl.block_id(0) * n + k - 1, 0), z.shape, padding=0)
        total = total + window * w.load_tile((1, z.shape[1]), [k, 0])
    z.store(total)


def test_tiles_beside_loads_by_address_are_read_under_a_mask():
    z, w = tw.meta((64, 256)), tw.meta((3, 256))
    func = cuda_ir(taps, z.partition_mut((8, 256)), z, w)
    found = lowered(func).decisions.accesses
    forms = [(op.one("view").view.tensor.param, a.masked, a.versioned) for op, a in found.items()]
    assert set(forms) == {("x", False, False), ("w", True, True), ("z", False, True)}
    assert not any(a.masked for a in lowered(func, whole_first=True).decisions.accesses.values())


def test_whole_tiles_beside_loads_by_address_are_read_as_tiles():
    """By address, each thread would read one element of a short row at a time."""
    z, w = tw.meta((64, 256)), tw.meta((3, 256))
    func = cuda_ir(taps, z.partition_mut((8, 256)), z, w)
    kinds = ("load_ptr_tko", "load_view_tko")

    def loads(region):
        names = Counter(i.op.name for i in region.code)
        return tuple(names[kind] for kind in kinds)

    kernel = lowered(func).program.kernels[0]
    (branch,) = (i for i in kernel.body.code if i.op.name == "if")
    assert [loads(version) for version in branch.regions] == [(3, 3), (6, 0)]
    assert loads(lowered(func, whole_first=False).program.kernels[0].body) == (6, 0)


@tw.entry
def picked(
    z: tl.TensorMut, x: tl.Tensor, places: tl.Tensor[tw.i32], *, AXIS: tl.Const[int]
) -> None:
    here = places.load_tile((z.shape[AXIS],), [tl.block_id(AXIS)])
    view = tl.make_gather_scatter_view(x, z.shape, AXIS, padding=0)
    if AXIS == 0:
        z.store(view.load([here + 1, tl.block_id(1) * z.shape[1]]))
    else:
        z.store(view.load([tl.block_id(0) * z.shape[0], here + 1]))


def test_places_in_rows_are_read_one_per_thread():
    """Those of rows are not: a thread gathers vectors of a row."""
    z, places = tw.meta((256, 256)), tw.meta((256,), tw.i32)
    for axis in (0, 1):
        func = cuda_ir(picked, z.partition_mut((8, 256)), z, places, AXIS=axis)
        made = lowered(func)
        (load,) = (a for op, a in made.decisions.accesses.items()
                   if op.one("view").view.tensor.param == "places")  # fmt: skip
        assert load.masked and load.apart == (axis == 1) and load.versioned == (axis == 0)
        line = "by element address, predicated, one per thread"
        assert any(line in each for each in made.decisions.lines) == (axis == 1)
        body = made.program.kernels[0].body.code
        selects = [i for i in body if i.op.name == "select"]
        assert bool(selects) == (axis == 1), "of unrelated addresses"


@tw.entry
def joined(z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor) -> None:
    m, n = z.shape
    pairs = x.load_tile((m, n // 2, 2), [tl.block_id(0), tl.block_id(1), 0]).reshape(m, n)
    z.store(pairs + w.load_tile((1, n), [0, tl.block_id(1)]))


def test_what_tileiras_would_misread_is_read_by_address_in_all_blocks():
    z, w, x = tw.meta((64, 256)), tw.meta((1, 256)), tw.meta((64, 128, 2))
    made = lowered(cuda_ir(joined, z.partition_mut((8, 256)), x, w))
    found = {op.one("view").view.tensor.param: a for op, a in made.decisions.accesses.items()}
    assert found["x"].masked and not found["x"].versioned and not found["x"].whole_as_tile
    assert found["w"].masked and found["w"].versioned and found["w"].whole_as_tile
    body = made.program.kernels[0].body.code
    (branch,) = (i for i in body if i.op.name == "if")
    for version, by_address in zip(branch.regions, (1, 2), strict=True):
        assert sum(i.op.name == "load_ptr_tko" for i in version.code) == by_address

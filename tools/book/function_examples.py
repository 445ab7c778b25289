"""List an example of every function of kernels: an expression that the book evaluates and shows.

Expressions use these tiles: `x`, `y` of f32; `i`, `j` of i32; `b` of bool; `m` of f32, 2 x 4; `n` a
scalar i32. Lines before the last are statements. Functions of memory and threads are in `KERNELS`:
whole kernels, of which the book shows the source and the output.
"""

from __future__ import annotations

INPUTS = {
    "x": "[-1.5, 0.0, 1.0, 2.5]", "y": "[2.0, 2.0, -1.0, 0.5]", "i": "[1, 2, 3, 7]",
    "j": "[3, 3, -2, 0]", "b": "[True, False, True, True]",
    "m": "[[0, 1, 2, 3], [4, 5, 6, 7]]", "n": "3",
}  # fmt: skip
"""What the expressions compute on."""

EXPRESSIONS: dict[str, str] = {
    "maximum": "tl.maximum(x, y)", "minimum": "tl.minimum(x, 1.0)",
    "clamp": "tl.clamp(x, -1.0, 2.0)", "abs": "tl.abs(x)", "ceil_div": "tl.ceil_div(i, 2)",
    "mulhii": "tl.mulhii(tl.full((2,), 2**30, tw.i32), 12)", "fma": "tl.fma(x, y, 1.0)",
    "max_tile": "tl.max_tile(x, y)", "min_tile": "tl.min_tile(x, y)", "max": "tl.max(n, 5)",
    "min": "tl.min(n, 5)", "true_div": "tl.true_div(x, y)", "floor_div": "tl.floor_div(i, 2)",
    "addi": "tl.addi(i, j)", "subi": "tl.subi(i, j)", "muli": "tl.muli(i, j)",
    "divi": "tl.divi(i, 2)", "remi": "tl.remi(i, 2)", "negi": "tl.negi(i)", "absi": "tl.absi(j)",
    "maxi": "tl.maxi(i, j)", "mini": "tl.mini(i, j)", "addf": "tl.addf(x, y)",
    "subf": "tl.subf(x, y)", "mulf": "tl.mulf(x, y)", "divf": "tl.divf(x, y)",
    "remf": "tl.remf(x, y)", "negf": "tl.negf(x)", "absf": "tl.absf(x)", "maxf": "tl.maxf(x, y)",
    "minf": "tl.minf(x, y)",
    "ceil": "tl.ceil(x)", "floor": "tl.floor(x)", "round": "tl.round(x)", "sin": "tl.sin(x)",
    "cos": "tl.cos(x)", "tan": "tl.tan(x)", "sinh": "tl.sinh(x)", "cosh": "tl.cosh(x)",
    "tanh": "tl.tanh(x)", "exp": "tl.exp(x)", "expm1": "tl.expm1(x * 1e-4)",
    "log": "tl.log(tl.abs(y))", "log1p": "tl.log1p(x * 1e-4)", "log2": "tl.log2(tl.abs(y))",
    "exp2": "tl.exp2(y)", "sqrt": "tl.sqrt(tl.abs(x))", "rsqrt": "tl.rsqrt(tl.abs(y))",
    "erf": "tl.erf(x)", "pow": "tl.pow(tl.abs(x), y)", "atan2": "tl.atan2(x, y)",
    "cmpi": "tl.cmpi(i, j, tl.Predicate.LT)", "cmpf": "tl.cmpf(x, y, tl.Predicate.LT)",
    "eq_tile": "tl.eq_tile(i, 2)", "ne_tile": "tl.ne_tile(i, 2)", "gt_tile": "tl.gt_tile(x, y)",
    "ge_tile": "tl.ge_tile(x, y)", "lt_tile": "tl.lt_tile(x, y)", "le_tile": "tl.le_tile(x, y)",
    "where": "tl.where(x > 0.0, x, y)", "select": "tl.select(b, x, y)",
    "andi": "tl.andi(i, 3)", "ori": "tl.ori(i, 8)", "xori": "tl.xori(i, j)", "noti": "tl.noti(i)",
    "shli": "tl.shli(i, 2)", "shri": "tl.shri(i, 1)",
    "astype": "tl.astype(x, tw.i32)", "convert_tile": "tl.convert_tile(x, tw.f16)",
    "convert_scalar": "tl.convert_scalar(n, tw.f32)", "ftof": "tl.ftof(x, tw.f16)",
    "ftoi": "tl.ftoi(x, tw.i32)", "itof": "tl.itof(i, tw.f32)", "exti": "tl.exti(i, tw.i64)",
    "trunci": "tl.trunci(i, tw.i8)", "bitcast": "tl.bitcast(x, tw.i32)",
    "pack": "tl.pack(x.astype(tw.f4e2m1fn)).shape", "unpack":
    "tl.unpack(tl.pack(x.astype(tw.f4e2m1fn))).astype(tw.f32)",
    "zeros": "tl.zeros((2, 2), tw.i32)", "ones": "tl.ones((4,))", "full": "tl.full((4,), 2.5)",
    "constant": "tl.constant(7, (4,))", "arange": "tl.arange(8)", "iota": "tl.iota((8,))",
    "broadcast_scalar": "tl.broadcast_scalar(n, (4,))", "scalar_to_tile": "tl.scalar_to_tile(n)",
    "tile_to_scalar": "tl.tile_to_scalar(tl.scalar_to_tile(n))",
    "reshape": "tl.reshape(m, (4, 2))", "broadcast": "tl.broadcast(x, (2, 4))",
    "expand_dims": "tl.expand_dims(x, 1).shape", "permute": "tl.permute(m, (1, 0))",
    "transpose": "tl.transpose(m)", "cat": "tl.cat(x, y)", "extract": "tl.extract(m, (0, 1), (2, 2))",
    "get_shape_dim": "tl.get_shape_dim(m, 1)",
    "permute_array": "tl.permute_array(m.shape, (1, 0))",
    "reduce_sum": "tl.reduce_sum(m, 1)", "reduce_prod": "tl.reduce_prod(y)",
    "reduce_max": "tl.reduce_max(m, 0)", "reduce_min": "tl.reduce_min(m, 1, keepdims=True)",
    "argmax": "tl.argmax(m, 1)", "argmin": "tl.argmin(x)", "any": "tl.any(b)", "all": "tl.all(b)",
    "reduce": "tl.reduce(m, 1, 0.0, lambda a, b: a + b)", "scan_sum": "tl.scan_sum(x)",
    "cumsum": "tl.cumsum(m, 1)", "scan": "tl.scan(y, 0, 1.0, lambda a, b: a * b)",
    "mma": "tl.mma(m, m.T, tl.zeros((2, 2)))", "mmaf": "tl.mmaf(m, m.T, tl.zeros((2, 2)))",
    "mmai": "v = m.astype(tw.i8)\ntl.mmai(v, v.T, tl.zeros((2, 2), tw.i32))",
    "block_id": "tl.block_id(0)", "num_blocks": "tl.num_blocks(0)",
    "get_tile_block_id": "tl.get_tile_block_id()",
    "get_num_tile_blocks": "tl.get_num_tile_blocks()",
    "static_range": "[k * k for k in tl.static_range(4)]",
    "sigmoid": "tl.sigmoid(x)", "silu": "tl.silu(x)", "relu": "tl.relu(x)",
    "gelu": 'tl.gelu(x, "tanh")', "isnan": "tl.isnan(tl.log(x))", "isinf": "tl.isinf(1.0 / x)",
    "sign": "tl.sign(x)", "flip": "tl.flip(x, 0)", "split": "tl.split(m, 2)",
    "stack": "tl.stack((x, y))", "unstack": "tl.unstack(m)", "interleave": "tl.interleave(x, y)",
    "take_along_axis": "tl.take_along_axis(x, tl.arange(4) // 2, 0)",
    "asin": "tl.asin(y * 0.5)", "acos": "tl.acos(y * 0.5)", "atan": "tl.atan(x)",
    "log10": "tl.log10(tl.full((2,), 1000.0))", "trunc": "tl.trunc(x)",
    "sort": "tl.sort(y, descending=True)", "argsort": "tl.argsort(y)", "topk": "tl.topk(x, 2)",
    "philox": "tl.philox(7, tl.arange(2))", "rand": "tl.rand(7, tl.arange(4))",
    "randn": "tl.randn(7, tl.arange(4))", "randint": "tl.randint(7, tl.arange(4), 0, 10)",
    "softmax": "tl.softmax(m)", "logsumexp": "tl.logsumexp(m, 1)", "mean": "tl.mean(m, 0)",
    "var": "tl.var(m, 1)", "cumprod": "tl.cumprod(y)",
}  # fmt: skip
"""One expression per function."""


POINTERS: dict[str, str] = {
    "atomic_rmw": 'tl.atomic_rmw(places, 10, "add")', "atomic_cas": "tl.atomic_cas(places, 6, 0)",
    "atomic_add": "tl.atomic_add(places, 10)", "atomic_max": "tl.atomic_max(places, 7)",
    "atomic_min": "tl.atomic_min(places, 7)", "atomic_and": "tl.atomic_and(places, 1)",
    "atomic_or": "tl.atomic_or(places, 8)", "atomic_xor": "tl.atomic_xor(places, 1)",
    "atomic_xchg": "tl.atomic_xchg(places, 0)",
    "atomic_rmw_tko": 'tl.atomic_rmw_tko(places, 10, "add")',
    "atomic_cas_tko": "tl.atomic_cas_tko(places, 6, 0)",
    "pointer_to_tile": "tl.load_ptr(tl.pointer_to_tile(memory))",
    "tile_to_pointer": "tl.load_ptr(tl.tile_to_pointer(tl.pointer_to_tile(memory)))",
    "addptr": "tl.load_ptr(tl.addptr(memory, 2))",
    "addptr_tile": "tl.load_ptr(tl.addptr_tile(tl.broadcast_ptr(memory, (4,)), 3 - tl.arange(4)))",
    "broadcast_ptr": "tl.load_ptr(tl.broadcast_ptr(memory, (2,)))",
    "reshape_ptr": "tl.load_ptr(tl.reshape_ptr(places, (2, 2)))",
    "ptr_to_int": "tl.ptr_to_int(places) - tl.ptr_to_int(memory)",
    "int_to_ptr": "tl.load_ptr(tl.int_to_ptr(tl.ptr_to_int(places) + 4, tw.i32), tl.arange(4) < 3)",
    "ptr_to_ptr": "tl.load_ptr(tl.ptr_to_ptr(places, tw.u32))",
    "load_ptr": "tl.load_ptr(places, tl.arange(4) < 2, fill=-1)",
    "load_ptr_tko": "tl.load_ptr_tko(places)",
    "store_ptr": "tl.store_ptr(places, tl.arange(4))",
    "store_ptr_tko": "tl.store_ptr_tko(places, tl.arange(4))",
    "gather": "tl.gather(memory, 3 - tl.arange(4))",
    "scatter": "tl.scatter(memory, 3 - tl.arange(4), tl.arange(4))",
    "make_tensor_view": "tl.make_tensor_view(memory, (2, 2), (2, 1)).load_tile((2, 2), [0, 0])",
    "make_partition_view":
    "tl.make_partition_view(tl.make_tensor_view(memory, (4,), (1,)), (2,)).load([1])",
    "make_partition_view_mut":
    "tl.make_partition_view_mut(tl.make_tensor_view(memory, (4,), (1,)), (2,)).store(0, [1])",
    "load_view_tko":
    "tl.load_view_tko(tl.make_partition_view(tl.make_tensor_view(memory, (4,), (1,)), (2,)), [1])",
    "store_view_tko":
    "parts = tl.make_partition_view_mut(tl.make_tensor_view(memory, (4,), (1,)), (2,))\n"
    "tl.store_view_tko(parts, [1], tl.zeros((2,), tw.i32))",
    "atomic_red_view":
    "parts = tl.make_partition_view_mut(tl.make_tensor_view(memory, (4,), (1,)), (2,))\n"
    "tl.atomic_red_view(parts, [1], tl.ones((2,), tw.i32))",
    "atomic_red_view_tko":
    "parts = tl.make_partition_view_mut(tl.make_tensor_view(memory, (4,), (1,)), (2,))\n"
    "tl.atomic_red_view_tko(parts, [1], tl.ones((2,), tw.i32))",
    "assume_div_by": "tl.load_ptr(tl.assume_div_by(memory, 4))",
    "assume_div_by_every_along": "tl.assume_div_by_every_along(tl.arange(4), 2, 2, 0)",
    "assume_bounds": "tl.gather(memory, tl.assume_bounds(tl.arange(4), 0, 3))",
    "assume_bounds_lower": "tl.assume_bounds_lower(tl.load_ptr(places), 0)",
    "assume_bounds_upper": "tl.assume_bounds_upper(tl.load_ptr(places), 8)",
    "assume_same_elements": "tl.assume_same_elements(tl.arange(4) // 2, (2,))",
}
"""Expressions of unsafe kernels: `memory` points to 5, 6, 7, 8, and `places` to each of them."""

THREADS: dict[str, str] = {
    "index_1d": "x[simt.index_1d()]", "index_2d": "simt.index_2d(4).col",
    "thread_idx": "simt.thread_idx()", "block_idx": "simt.block_idx()",
    "block_dim": "simt.block_dim()", "grid_dim": "simt.grid_dim()",
    "shared": "buffer = simt.shared(tw.f32, 32)\nbuffer[simt.thread_idx()] = 1.0\nbuffer[t]",
    "sync_threads":
    "buffer = simt.shared(tw.f32, 32)\nbuffer[31 - t] = x[t]\nsimt.sync_threads()\nbuffer[t]",
    "lane_id": "simt.lane_id()", "warp_id": "simt.warp_id()",
    "sync_warp": "simt.sync_warp()\nx[t]",
    "shuffle": "simt.shuffle(x[t], 3)", "shuffle_up": "simt.shuffle_up(x[t], 1)",
    "shuffle_down": "simt.shuffle_down(x[t], 1)", "shuffle_xor": "simt.shuffle_xor(x[t], 1)",
    "vote_all": "1 if simt.vote_all(x[t] >= 0.0) else 0",
    "vote_any": "1 if simt.vote_any(x[t] > 30.0) else 0",
    "ballot": "simt.ballot(x[t] < 2.0)", "match_any": "simt.match_any(t // 2)",
}
"""Expressions of SIMT kernels of 32 threads: `t` is the number of a thread, `x[t]` its number."""

BODIES: dict[str, str] = {
    "load_tile_like": "out.store(tl.load_tile_like(x, out) * 2.0)",
    "load_tile_mut": "out.store(tl.load_tile_mut(out) + 1.0)",
    "store_tile": "tl.store_tile(out, tl.load_tile_like(x, out))",
    "num_tiles": "out.store(float(tl.num_tiles(x.partition((4,)), 0)))",
    "get_tensor_shape": "(n,) = tl.get_tensor_shape(out)\nout.store(float(n))",
    "get_index_space_shape":
    "(n,) = tl.get_index_space_shape(x.partition((2,)))\nout.store(float(n))",
    "make_gather_scatter_view":
    "rows = tl.make_gather_scatter_view(x, (4,), 0)\nout.store(rows.load([7 - tl.arange(4)]))",
    "make_strided_view":
    "steps = tl.make_strided_view(x, (4,), (2,))\nout.store(steps.load([tl.block_id(0)]))",
    "cuda_tile_print": 'tl.cuda_tile_print("block {}\\n", tl.block_id(0))\nout.store(0.0)',
    "cuda_tile_assert": 'tl.cuda_tile_assert(tl.block_id(0) < 2, "two blocks")\nout.store(1.0)',
}
"""Bodies of kernels over an output of 8 elements in tiles of 4, and an input x of 0 to 7."""

ELSEWHERE: dict[str, str] = {
    "mmaf_scaled": "../reference/numbers.md", "get_global": "pointer.md#globals",
    "load_tensor": "../examples/grouped_gemm.md", "dynamic_shared": "shared.md",
    "whole_warps": "warps.md", "inline_ptx": "assembly.md",
}
"""Functions whose example is on a page: they need a GPU, or more than a line."""

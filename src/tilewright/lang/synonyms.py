"""Names of other tile and array languages, and their equivalents in this one.

Hints show them: in kernels, and if a module uses a name that `tl` does not have.
"""

from __future__ import annotations

from collections.abc import Collection

ELEMENT_TYPES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int1": "bool_",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float8e4nv": "f8e4m3fn", "float8e5": "f8e5m2",
}  # fmt: skip

NO_THREADS = "not needed: a tile kernel has no threads; those of @simt.kernel have"
ROWS_OF = "tl.make_gather_scatter_view(x, shape, axis).load([rows, ...])"
ADDED = "acc.add(tile, places), of a parameter `acc: tl.Accumulator[f32, tl.Dyn]`"
HOST = "a parameter, x: tl.Tensor: pass the array to the launch"
TRIANGLE = "with rows and columns by tl.arange"

GRID = {
    "program_id": "tl.block_id(axis)",
    "bid": "tl.block_id(axis)",
    "blockIdx": "tl.block_id(axis)",
    "num_programs": "tl.num_blocks(axis)",
    "gridDim": "tl.num_blocks(axis)",
    "grid_dim": "tl.num_blocks(axis)",
    "threadIdx": f"{NO_THREADS} simt.thread_idx()",
    "thread_idx": f"{NO_THREADS} simt.thread_idx()",
    "syncthreads": f"{NO_THREADS} simt.sync_threads()",
    "debug_barrier": f"{NO_THREADS} simt.sync_threads()",
    "constexpr": "a keyword-only parameter, `*, N: tl.Const[int]`",
    "range": "range(...); tl.static_range(...) unrolls the loop",
    "device_print": "print(...)",
    "static_print": "print(...)",
    "print": "print(...)",
    "device_assert": "assert condition, message",
    "static_assert": "assert condition, message",
    "assume": "assert condition, which the launch checks",
}

MEMORY = {
    "load": "tl.load_tile_like(x, out), or x.load_tile(shape, index)",
    "store": "out.store(tile)",
    "make_block_ptr": "x.partition(shape), and its load(index)",
    "make_tensor_descriptor": "x.partition(shape), and its load(index)",
    "advance": "another index of x.load_tile(shape, index)",
    "take": ROWS_OF,
    "index_select": ROWS_OF,
    "embedding": ROWS_OF,
    "scatter_add": ADDED,
    "index_add": ADDED,
    "empty": "tl.zeros(shape, dtype): tiles have values from the start",
    "empty_like": "tl.zeros(x.shape, x.dtype): tiles have values from the start",
    "zeros_like": "tl.zeros(x.shape, x.dtype)",
    "ones_like": "tl.ones(x.shape, x.dtype)",
    "full_like": "tl.full(x.shape, value, x.dtype)",
}

SHAPES = {
    "broadcast_to": "tl.broadcast(x, shape)",
    "trans": "x.T, or tl.transpose(x, axis0, axis1)",
    "swapaxes": "tl.transpose(x, axis0, axis1)",
    "moveaxis": "tl.permute(x, order)",
    "concatenate": "tl.cat((a, b), axis)",
    "concat": "tl.cat((a, b), axis)",
    "hstack": "tl.cat((a, b), 1)",
    "vstack": "tl.cat((a, b), 0)",
    "join": "tl.stack((a, b), -1)",
    "chunk": "tl.split(x, parts, axis)",
    "view": "x.reshape(shape), or tl.bitcast(x, dtype)",
    "ravel": "x.reshape(n)",
    "flatten": "x.reshape(n)",
    "squeeze": "x.reshape(shape)",
    "unsqueeze": "x[:, None]",
    "to": "x.astype(dtype)",
    "cast": "x.astype(dtype)",
    "repeat": "tl.broadcast(x[:, None], (n, times)).reshape(n * times)",
    "roll": "tl.cat((b, a), axis) of the parts of tl.split(x, 2, axis), or a load at another place",
    "pad": "padding= of the load: loads pad beyond the tensor",
    "meshgrid": "tl.arange(m)[:, None] and tl.arange(n)[None, :]",
    "linspace": "first + tl.arange(n) * step",
    "eye": "(tl.arange(n)[:, None] == tl.arange(n)[None, :]).astype(dtype)",
    "one_hot": "x[:, None] == tl.arange(classes)[None, :]",
    "tril": f"tl.where(rows >= columns, x, 0.0), {TRIANGLE}",
    "triu": f"tl.where(rows <= columns, x, 0.0), {TRIANGLE}",
    "diag": f"tl.where(rows == columns, x, 0.0), {TRIANGLE}",
    "masked_fill": "tl.where(mask, value, x)",
    "flipud": "tl.flip(x, 0)",
    "fliplr": "tl.flip(x, 1)",
    "array": HOST,
    "asarray": HOST,
}

ARITHMETIC = {
    "add": "a + b", "sub": "a - b", "subtract": "a - b", "mul": "a * b", "multiply": "a * b",
    "div": "a / b", "divide": "a / b", "true_divide": "a / b", "floor_divide": "a // b",
    "mod": "a % b", "remainder": "a % b", "neg": "-a", "negative": "-a", "square": "x * x",
    "power": "tl.pow(a, b), or a ** b", "reciprocal": "1.0 / a", "cdiv": "tl.ceil_div(a, b)",
    "fmod": "a - tl.trunc(a / b) * b", "hypot": "tl.sqrt(a * a + b * b)",
    "absolute": "tl.abs(x)", "fabs": "tl.abs(x)", "rint": "tl.round(x)", "fix": "tl.trunc(x)",
    "clip": "tl.clamp(x, low, high)", "umulhi": "tl.mulhii(a, b)",
    "lerp": "a + (b - a) * weight", "signbit": "x < 0.0",
    "allclose": "tl.all(tl.abs(a - b) <= tolerance)",
    "copysign": "tl.where(b < 0.0, -tl.abs(a), tl.abs(a))",
    "equal": "a == b", "not_equal": "a != b", "less": "a < b", "less_equal": "a <= b",
    "greater": "a > b", "greater_equal": "a >= b", "isclose": "tl.abs(a - b) <= tolerance",
    "logical_and": "a & b", "logical_or": "a | b", "logical_not": "~a", "bitwise_and": "a & b",
    "bitwise_or": "a | b", "bitwise_xor": "a ^ b", "bitwise_not": "~a", "invert": "~a",
    "left_shift": "a << b", "right_shift": "a >> b",
    "isfinite": "~(tl.isnan(x) | tl.isinf(x))", "nan_to_num": "tl.where(tl.isnan(x), 0.0, x)",
}  # fmt: skip

FORMULAS = {
    "arcsin": "tl.asin(x)",
    "arccos": "tl.acos(x)",
    "arctan": "tl.atan(x)",
    "arctan2": "tl.atan2(a, b)",
    "swish": "tl.silu(x)",
    "erfc": "1.0 - tl.erf(x)",
    "softplus": "tl.maximum(x, 0.0) + tl.log1p(tl.exp(-tl.abs(x)))",
    "logaddexp": "tl.maximum(a, b) + tl.log1p(tl.exp(-tl.abs(a - b)))",
    "log_softmax": "x - tl.logsumexp(x, axis, keepdims=True)",
    "leaky_relu": "tl.where(x > 0.0, x, slope * x)",
    "elu": "tl.where(x > 0.0, x, tl.expm1(x))",
    "relu6": "tl.clamp(x, 0.0, 6.0)",
    "hardswish": "x * tl.clamp(x + 3.0, 0.0, 6.0) / 6.0",
    "mish": "x * tl.tanh(tl.maximum(x, 0.0) + tl.log1p(tl.exp(-tl.abs(x))))",
    "layer_norm": "a formula of tl.mean and tl.var; ready for arrays it is tw.ops.layer_norm",
    "rms_norm": "a formula of tl.mean and tl.rsqrt; ready for arrays it is tw.ops.rms_norm",
    "cross_entropy": "tl.logsumexp(x, axis) - score; ready for arrays it is tw.ops.cross_entropy",
    "dropout": "tl.where(tl.rand(seed, places) < keep, x / keep, 0.0)",
    "inf": "tl.pos_inf, or tl.neg_inf for -inf",
    "pi": "math.pi: kernels may use constants of modules",
    "dot": "tl.mma(a, b, acc), or a @ b",
    "matmul": "tl.mma(a, b, acc), or a @ b",
    "mm": "tl.mma(a, b, acc), or a @ b",
    "bmm": "tl.mma(a, b, acc), or a @ b, of tiles of rank 3",
    "einsum": "a @ b, or tl.reduce_sum(a[:, :, None] * b[None, :, :], axis)",
    "inner": "tl.reduce_sum(a * b, -1)",
    "outer": "a[:, None] * b[None, :]",
    "conv1d": "a load of each tap by x.load_at(offsets, shape), and a sum",
    "conv2d": "a load of each tap by x.load_at(offsets, shape), and a sum",
}

REDUCTIONS = {
    "sum": "tl.reduce_sum(x, axis)",
    "prod": "tl.reduce_prod(x, axis)",
    "amax": "tl.reduce_max(x, axis)",
    "amin": "tl.reduce_min(x, axis)",
    "average": "tl.mean(x, axis)",
    "std": "tl.sqrt(tl.var(x, axis))",
    "norm": "tl.sqrt(tl.reduce_sum(x * x, axis))",
    "nansum": "tl.reduce_sum(tl.where(tl.isnan(x), 0.0, x), axis)",
    "searchsorted": "tl.reduce_sum((edges[None, :] < x[:, None]).astype(tw.i32), 1)",
    "count_nonzero": "tl.reduce_sum((x != 0).astype(tw.i32), axis)",
    "bincount": "tl.histogram(x, bins)",
    "median": "a number of tl.sort(x, axis)",
    "unique": "a comparison of neighbours in tl.sort(x, axis)",
    "cummax": "tl.scan(x, axis, tl.neg_inf, tl.maximum)",
    "cummin": "tl.scan(x, axis, tl.pos_inf, tl.minimum)",
    "associative_scan": "tl.scan(x, axis, identity, combiner)",
}

RANDOM = {
    "random": "tl.rand(seed, offset), of integers that differ between elements",
    "uniform": "low + (high - low) * tl.rand(seed, offset)",
    "normal": "mean + std * tl.randn(seed, offset)",
    "standard_normal": "tl.randn(seed, offset)",
}

SYNONYMS: dict[str, str] = {
    **GRID, **MEMORY, **SHAPES, **ARITHMETIC, **FORMULAS, **REDUCTIONS, **RANDOM,
    **{name: f"tw.{ours}" for name, ours in ELEMENT_TYPES.items()},
    **{ours: f"tw.{ours}" for ours in ELEMENT_TYPES.values()},
    "bool": "tw.bool_", "half": "tw.f16", "tf32": "tw.tf32",
}  # fmt: skip


def hint(name: str, known: Collection[str]) -> str | None:
    """Return the name here of a function of another language, or the name that a slip resembles."""
    if name in SYNONYMS:
        return f"here it is {SYNONYMS[name]}"
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, 0.75)
    return f"did you mean tl.{near[0]}?" if near else None

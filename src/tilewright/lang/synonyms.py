"""Names of other tile and array languages, and their equivalents in this one.

Hints show them: in kernels, and if a module uses a name that `tl` does not have.
"""

from __future__ import annotations

from typing import NoReturn

ELEMENT_TYPES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int1": "bool_",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float8e4nv": "f8e4m3fn", "float8e5": "f8e5m2",
}  # fmt: skip

SYNONYMS: dict[str, str] = {
    "program_id": "tl.block_id(axis)",
    "num_programs": "tl.num_blocks(axis)",
    "constexpr": "a keyword-only parameter, `*, N: tl.Const[int]`",
    "load": "tl.load_tile_like(x, out), or x.load_tile(shape, index)",
    "store": "out.store(tile)",
    "dot": "tl.mma(a, b, acc), or a @ b",
    "matmul": "tl.mma(a, b, acc), or a @ b",
    "sum": "tl.reduce_sum(x, axis)",
    "prod": "tl.reduce_prod(x, axis)",
    "arcsin": "tl.asin(x)",
    "arccos": "tl.acos(x)",
    "arctan": "tl.atan(x)",
    "arctan2": "tl.atan2(a, b)",
    "fix": "tl.trunc(x)",
    "cdiv": "tl.ceil_div(a, b)",
    "broadcast_to": "tl.broadcast(x, shape)",
    "trans": "x.T, or tl.transpose(x, axis0, axis1)",
    "swapaxes": "tl.transpose(x, axis0, axis1)",
    "concatenate": "tl.cat((a, b), axis)",
    "view": "x.reshape(shape), or tl.bitcast(x, dtype)",
    "ravel": "x.reshape(n)",
    "flatten": "x.reshape(n)",
    "squeeze": "x.reshape(shape)",
    "unsqueeze": "x[:, None]",
    "to": "x.astype(dtype)",
    "cast": "x.astype(dtype)",
    "zeros_like": "tl.zeros(x.shape, x.dtype)",
    "ones_like": "tl.ones(x.shape, x.dtype)",
    "full_like": "tl.full(x.shape, value, x.dtype)",
    "take": "tl.make_gather_scatter_view(x, shape, axis).load([rows, ...])",
    "square": "x * x",
    "outer": "a[:, None] * b[None, :]",
    "scatter_add": "acc.add(tile, places), of a parameter `acc: tl.Accumulator[f32, tl.Dyn]`",
    "index_add": "acc.add(tile, places), of a parameter `acc: tl.Accumulator[f32, tl.Dyn]`",
    "tril": "tl.where(rows >= columns, x, 0.0), with rows and columns by tl.arange",
    "triu": "tl.where(rows <= columns, x, 0.0), with rows and columns by tl.arange",
    "power": "tl.pow(a, b), or a ** b",
    "absolute": "tl.abs(x)",
    "rint": "tl.round(x)",
    "logical_and": "a & b",
    "logical_or": "a | b",
    "logical_not": "~a",
    "device_print": "print(...)",
    "static_print": "print(...)",
    "device_assert": "assert condition, message",
    "static_assert": "assert condition, message",
} | {name: f"tilewright.{ours}" for name, ours in ELEMENT_TYPES.items()}


def missing(name: str) -> NoReturn:
    """Raise the error for a name that `tilewright.lang` does not have, with a hint."""
    said = f"module 'tilewright.lang' has no attribute {name!r}"
    ours = SYNONYMS.get(name)
    raise AttributeError(f"{said}; here it is {ours}" if ours else said, name=name)

"""Export a compiled kernel for programs without Python: JSON, and a C header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import reduce
from math import isfinite
from typing import Any

from ...analysis.bounds.check_placement import shown
from ...base.cuda_abi import LAUNCH_WORDS, MAX_BLOCKS, MAX_GRID, MAX_INDEX, CudaLaunchWord
from ...base.dtypes import AnyDType
from ...base.shapes import Shape
from ...ir.artifact import Artifact
from ...ir.launch_expr import Expr, leaves, parts, show
from ...ir.signature import GlobalSpec, OutputSpec, ParamSpec, ScalarSpec, Signature, TensorSpec
from .lowered import is_cubin
from .resource_model import resources
from .target import ParameterSlot, slots, symbol

# -------------------------------------------------------------------------------------------------
# Parameter names that are valid identifiers in C.

KEYWORDS = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
    "unsigned", "void", "volatile", "while", "alignas", "alignof", "asm", "bool", "catch", "compl",
    "concept", "decltype", "delete", "explicit", "export", "false", "friend", "mutable",
    "namespace", "new", "noexcept", "nullptr", "operator", "private", "protected", "public",
    "requires", "template", "this", "throw", "true", "typeid", "typename", "typeof", "using",
    "virtual", "xor",
})  # fmt: skip
"""Words that C or C++ does not take as names."""
OURS = re.compile(r"record|nothing|grid_\d+|.*_(extent|stride)_\d+|global_.*")
"""What members are called that are no parameter themselves."""
ALONE = ("address", "scalar")
"""What is called as the parameter itself."""


def slots_of(artifact: Artifact) -> tuple[ParameterSlot, ...]:
    """Return the parameters of a compiled kernel."""
    return slots(artifact.signature, reports=bool(artifact.sites))


def field_names(signature: Signature, found: Sequence[ParameterSlot]) -> list[str]:
    """Return the name of each slot: `z`, `z_extent_0`, `grid_1`, `record`."""
    return [_name(signature, slot) for slot in found]


def extent_name(signature: Signature, param: str, axis: int) -> str:
    """Return the name of the slot of an extent, if it has one."""
    spec = next(s for s in signature.params if s.name == param)
    return f"{plain(spec.name)}_extent_{axis}"


def _name(signature: Signature, slot: ParameterSlot) -> str:
    if slot.what == "record":
        return "record"
    if slot.what == "grid":
        return f"grid_{slot.axis}"
    spec = signature.params[slot.param]
    name = plain(spec.name)
    if isinstance(spec, GlobalSpec):
        return f"global_{name}"
    return name if slot.what in ALONE else f"{name}_{slot.what}_{slot.axis}"


def plain(name: str) -> str:
    """Return a name that C takes, and that no member of another parameter has."""
    given = symbol(name)
    word = given.rstrip("_")  # so `record_`, which is free, does not meet what `record` becomes
    return f"{given}_" if word in KEYWORDS or OURS.fullmatch(word) else given


# -------------------------------------------------------------------------------------------------
# The launch grid as expressions over launch values.


def logical_grid(signature: Signature) -> tuple[Expr, ...] | None:
    """Return the number of blocks along each logical axis; None where the caller decides."""
    if signature.block is not None:
        return _grid_of_threads(signature, signature.block)
    if signature.grid is not None:
        return tuple(("const", n) for n in signature.grid)
    found = [spec for spec in signature.params if isinstance(spec, OutputSpec)]
    outputs = [spec for spec in found if not spec.shared]
    if not outputs or any(spec.groups is not None for spec in outputs):
        return None  # blocks of mapped outputs are as many as the caller likes
    chosen = max(outputs, key=lambda spec: len(spec.tile))
    blocks: list[Expr] = [
        ("ceildiv", ("extent", chosen.name, axis), ("const", tile))
        for axis, tile in enumerate(chosen.tile)
    ]
    return (*blocks, *[("const", 1)] * (signature.grid_rank - len(blocks)))


def _grid_of_threads(signature: Signature, block: Shape) -> tuple[Expr, ...] | None:
    """Return the grid of a SIMT kernel along x, y and z for launches that do not set it.

    A thread for each element of the longest slice that is written. How slices are rows and columns
    is not known here.
    """
    lengths: list[Expr] = [
        ("length", spec.name) for spec in signature.params if isinstance(spec, OutputSpec)
    ]
    if not lengths or len(block) != 1:
        return None
    longest, (threads,) = reduce(lambda a, b: ("max", a, b), lengths), block
    return ("ceildiv", longest, ("const", threads)), ("const", 1), ("const", 1)


# -------------------------------------------------------------------------------------------------
# The description of a launch as JSON.

FORMAT = 1
"""Counts up when a reader of the JSON must change."""
ADDRESS_BYTES = 8
KINDS: dict[type[Any], str] = {TensorSpec: "tensor", OutputSpec: "output", ScalarSpec: "scalar"}


def describe(artifact: Artifact) -> dict[str, Any]:
    """Return the facts about a kernel, by name, with slots in the order of its parameters."""
    assert isinstance(artifact.code, bytes)
    signature, found = artifact.signature, slots_of(artifact)
    names = field_names(signature, found)
    return {
        "format": FORMAT,
        "symbol": artifact.name,
        "arch": artifact.target,
        "parameters": [_parameter(spec) for spec in signature.params],
        "constants": {name: str(value) for name, value in signature.constants},
        "slots": [_slot(slot, name) for slot, name in zip(found, names, strict=True)],
        "launch": _launch(artifact),
        "checks": [shown(check) for check in artifact.launch_checks],
        "record": _record_json() if artifact.sites else None,
        "sites": [f"{s.kind} {s.tensor or s.message}".strip() for s in artifact.sites],
        "resources": asdict(resources(artifact.code)) if is_cubin(artifact.code) else None,
    }


def _parameter(spec: ParamSpec) -> dict[str, Any]:
    kind = KINDS.get(type(spec), "pointer")
    found: dict[str, Any] = {"name": spec.name, "kind": kind, "dtype": spec.dtype.name}
    if isinstance(spec, TensorSpec | OutputSpec):
        found |= {"shape": list(spec.shape), "strides": list(spec.strides)}
        found |= {"promises": asdict(spec.facts)}
    if isinstance(spec, OutputSpec):
        groups = None if spec.groups is None else list(spec.groups)
        found |= {"tile": list(spec.tile), "groups": groups, "partial": spec.partial}
    return found


def _slot(slot: ParameterSlot, name: str) -> dict[str, Any]:
    address = slot.what in ("address", "record")
    return {
        "name": name,
        "what": slot.what,
        "parameter": slot.param if slot.param >= 0 else None,
        "axis": slot.axis if slot.what in ("extent", "stride", "grid") else None,
        "dtype": slot.dtype.name,
        "bytes": ADDRESS_BYTES if address else slot.dtype.itemsize,
    }


def _launch(artifact: Artifact) -> dict[str, Any]:
    signature = artifact.signature
    grid = logical_grid(signature)
    return {
        "grid": None if grid is None else [show(expr) for expr in grid],
        "grid_rank": signature.grid_rank,
        "folded": signature.folded,
        "turned": artifact.turned,
        "largest_grid": list(MAX_GRID if signature.block is None else MAX_BLOCKS),
        "block": [1, 1, 1] if signature.block is None else list(signature.block_dims),
        "dynamic_shared_bytes": signature.shared_bytes,
    }


def _record_json() -> dict[str, Any]:
    return {"words": LAUNCH_WORDS, **{word.name.lower(): int(word) for word in CudaLaunchWord}}


# -------------------------------------------------------------------------------------------------
# The C header of a kernel, which needs no other header of ours.
#
# For files `add.*` it declares `struct add_arguments`, with one member per parameter of the kernel
# in order, and the functions `add_parameters`, which returns the arguments of cuLaunchKernel,
# `add_check`, which returns whether the arguments fit, and `add_grid`, which returns the grid, if
# the kernel has one.

C_TYPES = {
    "bool": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "f32": "float", "f64": "double",
}  # fmt: skip
"""Types that C has; values of all other types are passed as their bits."""
BITS = {8: "uint8_t", 16: "uint16_t", 32: "uint32_t", 64: "uint64_t"}
INFIX = {
    "add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=", "and": "&&", "or": "||",
}  # fmt: skip
REAL = frozenset({"f32", "f64"})
COMPUTED = {name: "double" if name in REAL else "int64_t" for name in C_TYPES if name != "u64"}
"""What numbers are computed as: like those of Python, they do not overflow."""
CALLS = ("floordiv", "mod", "ceildiv", "min", "max")

HELPERS = """\
#ifndef TILEWRIGHT_ARITHMETIC
#define TILEWRIGHT_ARITHMETIC
static inline int64_t tilewright_floordiv(int64_t a, int64_t b)
{
    return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t tilewright_mod(int64_t a, int64_t b)
{
    return b == 0 ? a : a - tilewright_floordiv(a, b) * b;
}
static inline int64_t tilewright_ceildiv(int64_t a, int64_t b)
{
    return b == 0 ? 0 : -tilewright_floordiv(-a, b);
}
static inline int64_t tilewright_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tilewright_max(int64_t a, int64_t b) { return a > b ? a : b; }
#endif
"""


def header(artifact: Artifact, name: str) -> str:
    """Return the text of the header; its names begin with `name`, so that headers can coexist.

    One kernel has as many headers as it was compiled for tiles, types and architectures.
    """
    prefix = symbol(name)
    found = slots_of(artifact)
    names = field_names(artifact.signature, found)
    guard = f"TILEWRIGHT_{prefix.upper()}_H"
    lines = [
        *_opening(artifact, prefix, guard),
        *_arguments(artifact, prefix, found, names),
        *_parameters(prefix, names),
        *_check(artifact, prefix),
        *_grid(artifact, prefix),
        f"#endif /* {guard} */",
    ]
    return "\n".join(lines) + "\n"


def _opening(artifact: Artifact, name: str, guard: str) -> Iterator[str]:
    yield f"/* How to launch `{artifact.name}`, compiled by Tilewright for {artifact.target}."
    yield " *"
    yield from _usage(artifact.signature, name)
    yield " */"
    yield f"#ifndef {guard}"
    yield f"#define {guard}"
    yield ""
    yield "#include <stdint.h>"
    yield ""
    yield HELPERS
    yield f'#define {name.upper()}_SYMBOL "{artifact.name}"'
    yield f'#define {name.upper()}_ARCH "{artifact.target}"'
    if artifact.signature.block is not None:
        for axis, threads in zip("XYZ", artifact.signature.block_dims, strict=True):
            yield f"#define {name.upper()}_BLOCK_{axis} {threads}"
        yield f"#define {name.upper()}_SHARED_BYTES {artifact.signature.shared_bytes}"
    if artifact.sites:
        yield from _record_text(name)
    yield ""


def _usage(signature: Signature, name: str) -> Iterator[str]:
    """Yield the comment that says how a program loads and launches the kernel."""
    big, code, threads, shared = name.upper(), "cubin", "1, 1, 1", "0"
    if signature.block is not None:
        code, shared = "PTX", f"{big}_SHARED_BYTES"
        threads = f"{big}_BLOCK_X, {big}_BLOCK_Y, {big}_BLOCK_Z"
    yield f" * Load the {code} (cuLibraryLoadData), get the kernel by its symbol, fill the"
    yield f" * arguments, check them, and launch it:  {name}_parameters(&a, p);"
    yield " * cuLaunchKernel(f, grid[0], grid[1], grid[2],"
    yield f" *                {threads}, {shared}, stream, p, 0);"


def _record_text(name: str) -> Iterator[str]:
    yield "/* The kernel reports: `record` is the address of device memory of so many 64-bit"
    yield "   words, zero before each launch; print records follow it. */"
    yield f"#define {name.upper()}_RECORD_WORDS {LAUNCH_WORDS}"
    for word in CudaLaunchWord:
        yield f"#define {name.upper()}_{word.name} {int(word)}"


def _arguments(
    artifact: Artifact, prefix: str, found: Sequence[ParameterSlot], names: Sequence[str]
) -> Iterator[str]:
    yield f"struct {prefix}_arguments {{"
    for slot, name in zip(found, names, strict=True):
        yield f"    {_c_type(slot)} {name}; /* {_about(artifact.signature, slot)} */"
    if not found:
        yield "    char nothing;"
    yield "};"
    yield ""


def _c_type(slot: ParameterSlot) -> str:
    if slot.what in ("address", "record"):
        return "uint64_t"
    return c_type(slot.dtype)


def c_type(dtype: AnyDType) -> str:
    """Return the C type of a number, or of its bits."""
    return C_TYPES.get(dtype.name) or BITS[max(dtype.bits, 8)]


def _about(signature: Signature, slot: ParameterSlot) -> str:
    if slot.what == "record":
        return "device address of the launch record"
    if slot.what == "grid":
        return f"blocks along logical axis {slot.axis}"
    spec = signature.params[slot.param]
    if slot.what == "address":
        aligned = _alignment(signature, spec)
        promise = f", a multiple of {aligned}" if aligned > 1 else ""
        return f"device address, {slot.dtype.name}{promise}"
    if slot.what == "scalar":
        return slot.dtype.name if slot.dtype.name in C_TYPES else f"the bits of {slot.dtype.name}"
    return f"axis {slot.axis}{_divisor(spec, slot)}"


def _divisor(spec: object, slot: ParameterSlot) -> str:
    assert isinstance(spec, TensorSpec | OutputSpec), "only memory has extents and strides"
    known = spec.facts.extents if slot.what == "extent" else spec.facts.strides
    divisor = known[slot.axis] if slot.axis < len(known) else 1
    unit = ", in elements" if slot.what == "stride" else ""
    return f"{unit}, a multiple of {divisor}" if divisor > 1 else unit


def _parameters(kernel: str, names: Sequence[str]) -> Iterator[str]:
    yield f"#define {kernel.upper()}_PARAMETERS {len(names)}"
    yield f"static inline void {kernel}_parameters(struct {kernel}_arguments *a, void **p)"
    yield "{"
    for number, name in enumerate(names):
        yield f"    p[{number}] = &a->{name};"
    if not names:
        yield "    (void)a, (void)p;"
    yield "}"
    yield ""


def _check(artifact: Artifact, name: str) -> Iterator[str]:
    """Launch checks, and the promises that the code was compiled with."""
    signature = artifact.signature
    yield f"/* 0 if the kernel may be launched with these arguments, else the line of {name}_check"
    yield "   that does not hold, counted from 1. */"
    yield f"static inline int {name}_check(const struct {name}_arguments *a)"
    yield "{"
    number = 0
    for text, about in [*_promises(signature), *_limits(artifact), *_launch_checks(artifact)]:
        if text:
            number += 1
            yield f"    if (!({text})) return {number}; /* {about} */"
        else:
            yield f"    /* for the caller to check: {about} */"
    yield "    (void)a;"
    yield "    return 0;"
    yield "}"
    yield ""


def _promises(signature: Signature) -> Iterator[tuple[str, str]]:
    for spec in signature.params:
        if not isinstance(spec, TensorSpec | OutputSpec):
            continue
        name = plain(spec.name)
        aligned = _alignment(signature, spec)
        if aligned > 1:
            yield f"a->{name} % {aligned} == 0", f"`{spec.name}` is aligned"
        for what, dims, known in (("extent", spec.shape, spec.facts.extents),
                                  ("stride", spec.strides, spec.facts.strides)):  # fmt: skip
            for axis, (n, divisor) in enumerate(zip(dims, known, strict=False)):
                if n is None and divisor > 1:
                    text = f"a->{name}_{what}_{axis} % {divisor} == 0"
                    yield text, f"{what} {axis} of `{spec.name}`"
        if spec.facts.near:
            yield f"{_farthest(name, spec)} <= INT32_MAX", f"`{spec.name}` is not too large"


def _alignment(signature: Signature, spec: ParamSpec) -> int:
    """Return the assumed divisor of an address; SIMT kernels load complete elements."""
    if not isinstance(spec, TensorSpec | OutputSpec):
        return 1
    return spec.facts.alignment if signature.block is None else spec.dtype.itemsize


def _farthest(name: str, spec: TensorSpec | OutputSpec) -> str:
    """Return the offset of a tensor's last element, in C; an upper bound if it is empty."""
    terms: list[str] = []
    for axis, (extent, stride) in enumerate(zip(spec.shape, spec.strides, strict=True)):
        length = f"(int64_t)a->{name}_extent_{axis}" if extent is None else f"(int64_t){extent}"
        step = f"a->{name}_stride_{axis}" if stride is None else str(stride)
        terms.append(f"({length} - 1) * {step}")
    return " + ".join(terms) or "0"


def _limits(artifact: Artifact) -> Iterator[tuple[str, str]]:
    """Yield the limits of the grid and of the number of threads, each with a text."""
    signature = artifact.signature
    grid = logical_grid(signature)
    if grid is not None and signature.block is not None:
        for spec in signature.params:
            if isinstance(spec, OutputSpec):
                length = _c(("length", spec.name), signature)
                yield f"{length} <= {MAX_INDEX}", f"threads for `{spec.name}`"
        return
    if grid is not None and not signature.folded:
        for axis, most in enumerate(MAX_GRID[::-1] if artifact.turned else MAX_GRID):
            if grid[axis][0] != "const":
                yield f"{_c(grid[axis], signature)} <= {most}", f"the grid along axis {axis}"


def _launch_checks(artifact: Artifact) -> Iterator[tuple[str, str]]:
    for check in artifact.launch_checks:
        expr: Expr = check.expr
        for condition in check.where:
            expr = ("or", ("not", condition), expr)
        yield expression(expr, artifact.signature) or "", shown(check)


def expression(expr: Expr, signature: Signature) -> str | None:
    """Return a launch expression in C; None if C cannot express it.

    Launches compute in integers of any length, and in doubles; C does so in 64 bits.
    """
    grid = logical_grid(signature)
    if any(leaf[0] in ("grid", "grid_dim") and grid is None for leaf in leaves(expr)):
        return None
    types = {_scalar(signature, leaf[1]).dtype.name for leaf in leaves(expr) if leaf[0] == "scalar"}
    if not types <= COMPUTED.keys() or not all(map(_is_written, _constants(expr))):
        return None
    whole = not types & REAL and all(isinstance(n, int) for n in _constants(expr))
    return _c(expr, signature) if whole or not _has_call(expr) else None


def _constants(expr: Expr) -> list[float]:
    if expr[0] in ("const", "given"):
        return [expr[-1]]
    return [number for part in parts(expr) for number in _constants(part)]


def _is_written(number: float) -> bool:
    """Return whether C can write a number down."""
    return abs(number) < 1 << 63 if isinstance(number, int) else isfinite(number)


def _has_call(expr: Expr) -> bool:
    """Return whether integers are divided, or compared by one of our functions."""
    return expr[0] in CALLS or any(map(_has_call, parts(expr)))


def _c(expr: Expr, signature: Signature) -> str:
    name, args = expr[0], expr[1:]
    if name in INFIX:
        return f"({_c(args[0], signature)} {INFIX[name]} {_c(args[1], signature)})"
    if name in CALLS:
        return f"tilewright_{name}({_c(args[0], signature)}, {_c(args[1], signature)})"
    match name:
        case "const" | "given":
            return repr(int(args[-1])) if isinstance(args[-1], bool) else repr(args[-1])
        case "extent":
            return _extent(signature, args[0], int(args[1]))
        case "length":
            return _extent(signature, args[0], 0)
        case "scalar":
            cast = COMPUTED[_scalar(signature, args[0]).dtype.name]
            return f"({cast})a->{plain(args[0])}"
        case "grid" | "grid_dim":  # a SIMT kernel counts the grid from x on
            grid = logical_grid(signature)
            assert grid is not None, "asked for before"
            return _c(grid[int(args[0])], signature)
        case "not":
            return f"!{_c(args[0], signature)}"
        case _:
            raise ValueError(f"not a launch expression: {expr!r}")


def _extent(signature: Signature, param: str, axis: int) -> str:
    spec = next(s for s in signature.params if s.name == param)
    assert isinstance(spec, TensorSpec | OutputSpec), "only memory has extents"
    fixed = spec.shape[axis]
    return f"(int64_t)a->{extent_name(signature, param, axis)}" if fixed is None else str(fixed)


def _scalar(signature: Signature, param: str) -> ScalarSpec:
    spec = next(s for s in signature.params if s.name == param)
    assert isinstance(spec, ScalarSpec), f"{param} is no number"
    return spec


def _grid(artifact: Artifact, name: str) -> Iterator[str]:
    signature = artifact.signature
    grid = logical_grid(signature)
    if grid is None:
        turned = (
            ", with its axes reversed: grid[0] is its last axis, grid[2] its first"
            * artifact.turned
        )
        yield f"/* The caller of `{artifact.name}` decides the grid{turned}. */"
        return
    blocks = [_c(axis, signature) for axis in (grid[::-1] if artifact.turned else grid)]
    constant = "" if signature.folded else "const "
    yield f"static inline void {name}_grid({constant}struct {name}_arguments *a, uint32_t grid[3])"
    yield "{"
    if signature.folded:
        yield from _folded(blocks)
    else:
        yield from (f"    grid[{k}] = (uint32_t)({text});" for k, text in enumerate(blocks[:3]))
    yield "    (void)a;"
    yield "}"
    yield ""


def _folded(blocks: Sequence[str]) -> Iterator[str]:
    """Yield the code that passes the logical grid and folds it into a row of blocks."""
    yield "    uint64_t total = 1;"
    for axis, text in enumerate(blocks):
        yield f"    a->grid_{axis} = (int32_t)({text});"
        yield f"    total *= (uint64_t)a->grid_{axis};"
    yield f"    grid[0] = total < {MAX_GRID[0]} ? (uint32_t)total : {MAX_GRID[0]};"
    yield "    grid[1] = grid[0] ? (uint32_t)((total + grid[0] - 1) / grid[0]) : 1;"
    yield "    grid[2] = 1;"

"""A C header that says how a compiled kernel is launched. It needs no other header of ours.

For files `add.*` it declares `struct add_arguments`, one member per parameter of the kernel in its
order, and the functions `add_parameters`, which gives what cuLaunchKernel takes, `add_check`, which
says whether the arguments fit, and `add_grid`, which gives the grid, where the kernel has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from ....analysis.bounds.check_placement import shown
from ....base.cuda_abi import LAUNCH_WORDS, MAX_GRID, MAX_INDEX, LaunchWord
from ....base.dtypes import AnyDType
from ....ir.artifact import Artifact
from ....ir.launch_expr import Expr, leaves, parts
from ....ir.signature import OutputSpec, ParamSpec, ScalarSpec, Signature, TensorSpec
from ..abi import Slot, symbol
from .grid import logical_grid
from .naming import extent_name, field_names, plain, slots_of

C_TYPES = {
    "bool": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "f32": "float", "f64": "double",
}  # fmt: skip
"""Types that C has; of others a program hands over the bits."""
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
    """The text of the header; its own names begin with `name`, so that a program may have several.

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
        yield from _record(name)
    yield ""


def _usage(signature: Signature, name: str) -> Iterator[str]:
    """How a program goes about it."""
    big, code, threads, shared = name.upper(), "cubin", "1, 1, 1", "0"
    if signature.block is not None:
        code, shared = "PTX", f"{big}_SHARED_BYTES"
        threads = f"{big}_BLOCK_X, {big}_BLOCK_Y, {big}_BLOCK_Z"
    yield f" * Load the {code} (cuLibraryLoadData), get the kernel by its symbol, fill the"
    yield f" * arguments, check them, and launch it:  {name}_parameters(&a, p);"
    yield " * cuLaunchKernel(f, grid[0], grid[1], grid[2],"
    yield f" *                {threads}, {shared}, stream, p, 0);"


def _record(name: str) -> Iterator[str]:
    yield "/* The kernel reports: `record` is the address of device memory of so many 64-bit"
    yield "   words, zero before each launch; print records follow it. */"
    yield f"#define {name.upper()}_RECORD_WORDS {LAUNCH_WORDS}"
    for word in LaunchWord:
        yield f"#define {name.upper()}_{word.name} {int(word)}"


def _arguments(
    artifact: Artifact, prefix: str, found: Sequence[Slot], names: Sequence[str]
) -> Iterator[str]:
    yield f"struct {prefix}_arguments {{"
    for slot, name in zip(found, names, strict=True):
        yield f"    {_c_type(slot)} {name}; /* {_about(artifact.signature, slot)} */"
    if not found:
        yield "    char nothing;"
    yield "};"
    yield ""


def _c_type(slot: Slot) -> str:
    if slot.what in ("address", "record"):
        return "uint64_t"
    return c_type(slot.dtype)


def c_type(dtype: AnyDType) -> str:
    """The C type of a number, or of its bits."""
    return C_TYPES.get(dtype.name) or BITS[max(dtype.bits, 8)]


def _about(signature: Signature, slot: Slot) -> str:
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


def _divisor(spec: object, slot: Slot) -> str:
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
    """What an address is a multiple of; SIMT kernels load whole elements."""
    if not isinstance(spec, TensorSpec | OutputSpec):
        return 1
    return spec.facts.alignment if signature.block is None else spec.dtype.itemsize


def _farthest(name: str, spec: TensorSpec | OutputSpec) -> str:
    """The offset of a tensor's last element, in C; more than it is, where it has no elements."""
    terms: list[str] = []
    for axis, (extent, stride) in enumerate(zip(spec.shape, spec.strides, strict=True)):
        length = f"(int64_t)a->{name}_extent_{axis}" if extent is None else f"(int64_t){extent}"
        step = f"a->{name}_stride_{axis}" if stride is None else str(stride)
        terms.append(f"({length} - 1) * {step}")
    return " + ".join(terms) or "0"


def _limits(artifact: Artifact) -> Iterator[tuple[str, str]]:
    """A grid that is not folded is launched as it is, or turned; threads have numbers."""
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
    """A launch expression in C; None where it asks for something that C does not have.

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
    """Whether C can write a number down."""
    return abs(number) < 1 << 63 if isinstance(number, int) else isfinite(number)


def _has_call(expr: Expr) -> bool:
    """Whether integers are divided, or compared by one of our functions."""
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
        case "grid" | "grid_dim":  # of a SIMT kernel the grid is told from x on
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
    """The logical grid goes into the arguments; the blocks run as one long row."""
    yield "    uint64_t total = 1;"
    for axis, text in enumerate(blocks):
        yield f"    a->grid_{axis} = (int32_t)({text});"
        yield f"    total *= (uint64_t)a->grid_{axis};"
    yield f"    grid[0] = total < {MAX_GRID[0]} ? (uint32_t)total : {MAX_GRID[0]};"
    yield "    grid[1] = grid[0] ? (uint32_t)((total + grid[0] - 1) / grid[0]) : 1;"
    yield "    grid[2] = 1;"

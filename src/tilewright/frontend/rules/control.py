"""Rules of unrolled ranges, the grid, print, assertions, and extents that must be equal."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...base.errors import Code
from ...ir.attrs import Predicate
from ...ir.core import Value
from ...ir.launch_expr import Expr, LaunchCheck
from ...ir.types import TileType
from ..semantics.builder import SemanticBuilder
from ..semantics.launch_exprs import ask_at_launch, reject_false
from ..semantics.operands import parts
from ..semantics.values import FormatString, Memory, OutputRef, TensorRef, describe
from .reduction import reduce_all

# -------------------------------------------------------------------------------------------------
# Rules of the control family: only the unrolled range; the rest of control flow is syntax.


def static_range(em: SemanticBuilder, start: Any, stop: Any = None, step: Any = 1, /) -> range:
    """Return a range known while compiling; a loop over it is unrolled."""
    first, last = (0, start) if stop is None else (start, stop)
    bounds = [
        em.static_int(x, f"the {name} of static_range")
        for x, name in ((first, "start"), (last, "stop"), (step, "step"))
    ]
    if bounds[2] == 0:
        em.fail(Code.CALL, "the step of static_range is 0", expected="a step up or down")
    return range(*bounds)


# -------------------------------------------------------------------------------------------------
# Rules of the grid family: position of this block in the grid.


def _block_id(em: SemanticBuilder, axis: Any) -> Value:
    return em.emit("block_id", axis=_grid_axis(em, axis))


def _num_blocks(em: SemanticBuilder, axis: Any) -> int | Value:
    number = _grid_axis(em, axis)
    if em.signature.grid is not None:
        return em.signature.grid[number] if number < len(em.signature.grid) else 1
    return em.emit("num_blocks", axis=number)


def _grid_axis(em: SemanticBuilder, axis: Any) -> int:
    number, rank = em.static_int(axis, "grid axis"), em.signature.grid_rank
    if not 0 <= number < rank:
        em.fail(
            Code.RANK,
            f"the grid has no axis {number}",
            expected=f"0 to {rank - 1}",
            got=str(number),
        )
    return number


def _get_tile_block_id(em: SemanticBuilder) -> tuple[Value, ...]:
    return tuple(_block_id(em, k) for k in range(3))


def _get_num_tile_blocks(em: SemanticBuilder) -> tuple[int | Value, ...]:
    return tuple(_num_blocks(em, k) for k in range(3))


# -------------------------------------------------------------------------------------------------
# Rules of the debug family: print and assert; the launch checks an assertion if it can.

# --- print -------------------------------------------------------------------------------------


def print_values(em: SemanticBuilder, *args: Any, sep: Any = " ", end: Any = "\n") -> None:
    """Print values as `str` shows them; constants become part of the text."""
    between, last = _text(em, sep, "sep", " "), _text(em, end, "end", "\n")
    parts: list[Any] = []
    for k, arg in enumerate(args):
        parts += [between] if k else []
        parts += _parts(em, arg)
    _record(em, [*parts, last])


def cuda_tile_print(em: SemanticBuilder, template: Any, *args: Any) -> None:
    """Print by a format string, nothing added."""
    text = template if isinstance(template, str) else None
    if text is None:
        em.fail(
            Code.NOT_STATIC,
            "the template must be a constant text",
            expected='a text such as "x = {}\\n"',
            got=describe(template),
        )
    parts, used = _parse(em, text, args)
    if used < len(args):
        em.fail(
            Code.CALL,
            f"the template shows {used} of {len(args)} values",
            expected=f"{used} values",
            got=f"{len(args)} values",
        )
    _record(em, parts)


def _parse(em: SemanticBuilder, template: str, args: Sequence[Any]) -> tuple[list[Any], int]:
    """Return the parts of a template, and how many of the values it shows."""
    parts: list[Any] = []
    shown: set[int] = set()
    counted = 0
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError as error:
        em.fail(Code.CALL, f"bad template: {error}", got=repr(template))
    for literal, field, spec, conversion in fields:
        parts.append(literal)
        if field is None:
            continue
        number = int(field) if field.isdecimal() else counted
        if (field and not field.isdecimal()) or conversion or number >= len(args):
            em.fail(
                Code.CALL,
                f"the template has a field {{{field}}} that no value fills",
                expected=f"{{}} or {{n}} for {len(args)} values",
                got=repr(template),
            )
        counted += not field
        shown.add(number)
        parts.append(_part(em, args[number], spec or ""))
    return parts, len(shown)


def _parts(em: SemanticBuilder, arg: Any) -> Sequence[Any]:
    """Return the parts that print shows of one argument; items of tuples as `repr` shows them."""
    if isinstance(arg, FormatString):
        return [p if isinstance(p, str) else _part(em, *p) for p in arg.parts]
    if not isinstance(arg, tuple | list):
        return [_part(em, arg, "")]
    items: list[Any] = []
    given = parts(arg)
    for item in given:
        items += [", "] if items else []
        items += [repr(item)] if isinstance(item, str) else _parts(em, item)
    if isinstance(arg, list):
        return ["[", *items, "]"]
    return ["(", *items, ",)" if len(given) == 1 else ")"]


def _part(em: SemanticBuilder, arg: Any, spec: str) -> Any:
    """Return a text, or a value with its format specification."""
    if isinstance(arg, Memory):
        em.fail(
            Code.TYPE,
            f"{describe(arg)} cannot be printed",
            expected="a tile, a scalar or a constant",
            got=describe(arg),
            hint="load a tile of it and print that",
        )
    if not isinstance(arg, Value):
        return format(arg, spec)
    if not isinstance(arg.type, TileType) or arg.type.is_pointer:
        em.fail(
            Code.TYPE,
            "a pointer cannot be printed",
            expected="a tile, a scalar or a constant",
            got=describe(arg),
            hint="print its address: tl.ptr_to_int(p)",
        )
    return arg, spec


def _check_spec(em: SemanticBuilder, value: Value, spec: str) -> None:
    """Reject a format that Python would reject; that of a tile holds for each element."""
    dtype = value.tile.dtype
    sample = 1.0 if dtype.is_float else True if dtype.is_bool else 1
    try:
        format(sample, spec)
    except ValueError as error:
        em.fail(
            Code.CALL,
            f"bad format {spec!r}: {error}",
            expected=f"a format of {dtype.name}",
            got=describe(value),
        )


def _record(em: SemanticBuilder, parts: Iterable[Any]) -> None:
    """Emit one print op: adjacent texts joined, values numbered in order."""
    template: list[Any] = []
    operands: list[Value] = []
    for part in parts:
        if isinstance(part, str):
            if template and isinstance(template[-1], str):
                template[-1] += part
            elif part:
                template.append(part)
            continue
        value, spec = part
        _check_spec(em, value, spec)
        template.append((len(operands), spec))
        operands.append(value)
    em.op("print", operands, template=tuple(template))


def _text(em: SemanticBuilder, x: Any, what: str, default: str) -> str:
    if x is None:
        return default
    if not isinstance(x, str):
        em.fail(
            Code.NOT_STATIC, f"{what} must be a constant text", expected="a text", got=describe(x)
        )
    return x


# --- assert ------------------------------------------------------------------------------------


def assert_condition(em: SemanticBuilder, condition: Any, message: str) -> None:
    """Reject a provably false condition; let the host check it if it can, else the kernel."""
    if not isinstance(condition, Value):
        if isinstance(condition, Memory):
            em.fail(Code.TRUTH, f"{describe(condition)} has no truth value",
                    expected="a condition", got=describe(condition))  # fmt: skip
        reject_false(em, bool(condition), message)
        return
    value = _condition(em, condition)
    if ask_at_launch(em, value, message) is None:
        em.op("assert", value, message=message)


def _condition(em: SemanticBuilder, condition: Value) -> Value:
    value = em.numbers(condition, "condition")
    if not value.tile.dtype.is_bool:
        em.fail(
            Code.TYPE,
            "an assertion needs a condition",
            expected="a bool, or a tile of them",
            got=describe(value),
            hint="compare: x != 0",
        )
    return reduce_all(em, value) if value.tile.rank else value


def cuda_tile_assert(
    em: SemanticBuilder, condition: Any, message: Any = "assertion failed"
) -> None:
    """Assert a condition, as a function."""
    assert_condition(em, condition, _text(em, message, "message", "assertion failed"))


RULES: dict[str, Callable[..., Any]] = {
    "static_range": static_range,
    "block_id": _block_id,
    "num_blocks": _num_blocks,
    "get_tile_block_id": _get_tile_block_id,
    "get_num_tile_blocks": _get_num_tile_blocks,
    "builtins.print": print_values,
    "cuda_tile_print": cuda_tile_print,
    "cuda_tile_assert": cuda_tile_assert,
}


# --- equality of extents, checked at compile time, at launch, or in the kernel -----------------


def require_same_extents(em: SemanticBuilder, src: TensorRef | OutputRef, dst: OutputRef) -> None:
    """Require that `src`, which is loaded like `dst`, has the extents of the tensor behind it.

    Of an output that a launch covers in part, those of the part will do. Extents of parameters are
    compared once, at launch, wherever in the kernel the load stands.
    """
    if not em.checked or src.value is dst.value:
        return
    message = f"`{src.name}` must have the extents of `{dst.name}` in load_tile_like"
    hint = (
        f"if the extents of `{src.name}` may differ, specify the padding:"
        f" tl.load_tile_like({src.name}, {dst.name}, padding=0)"
    )
    for axis, (there, needed) in enumerate(zip(src.type.shape, dst.type.shape, strict=True)):
        if there is not None and needed is not None and not dst.partial:
            if there != needed:
                em.fail(
                    Code.SHAPE,
                    message,
                    expected=f"{src.name}.shape[{axis}] = {needed}, as `{dst.name}`",
                    got=f"{src.name}.shape[{axis}] = {there}",
                    hint=hint,
                )
        elif src.type.param is None:
            assert_condition(em, _same(em, src, dst, axis), message)
        else:
            check = _extent_condition(("extent", src.type.param, axis), dst, axis)
            em.require_at_launch(LaunchCheck(check, message, em.span, hint=hint))


def _extent_condition(there: Expr, dst: OutputRef, axis: int) -> Expr:
    whole: Expr = ("extent", dst.type.param, axis)
    same: Expr = ("eq", there, whole)
    if not dst.partial:
        return same
    reached = ("mul", ("grid", axis), ("const", dst.tile[axis]))
    return ("or", same, ("eq", there, ("min", whole, reached)))


def _same(em: SemanticBuilder, src: TensorRef | OutputRef, dst: OutputRef, axis: int) -> Value:
    """Require equal extents of a tensor whose extents only the kernel knows."""
    there, whole = (em.emit("extent", ref.value, axis=axis) for ref in (src, dst))
    same = em.emit("cmpi", there, whole, predicate=Predicate.EQ)
    if not dst.partial:
        return same
    grid = em.signature.grid
    blocks = em.emit("num_blocks", axis=axis) if grid is None else em.index(grid[axis])
    reached = em.emit("muli", blocks, em.index(dst.tile[axis]))
    part = em.emit("mini", whole, reached)
    return em.emit("ori", same, em.emit("cmpi", there, part, predicate=Predicate.EQ))

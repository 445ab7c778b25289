"""The builder of rules: it knows the source location, converts operands and reports errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ...base.dtypes import AnyDType, DTypeMeta, as_dtype, bool_, i32, is_dtype
from ...base.errors import Code, CompileError, PaddingWarning, render
from ...base.shapes import FULL, MAX_TILE_ELEMENTS, Shape, broadcast, is_power_of_two, size
from ...base.source import Span
from ...ir.builder import Builder, Given
from ...ir.core import Block, BoundsCheck, Op, Value
from ...ir.launch_expr import Expr, LaunchCheck
from ...ir.signature import GlobalSpec, Signature
from ...ir.types import TileType
from ...lang.device_global import Global
from . import promotion
from .values import (
    AccumulatorRef,
    Cut,
    Indexed,
    MappedRef,
    Memory,
    OutputRef,
    Space,
    TensorRef,
    describe,
)

INSERT_AXES = "insert axes with x[:, None] or x[None, :], or use keepdims=True"


class SemanticBuilder(Builder):
    """The builder that rules use: it emits ops at the current source location.

    Beside the IR it keeps what rules must know of values. Facts are keyed by the identity of the IR
    value, so that the result of arithmetic never inherits a fact about an operand.
    """

    inline: Callable[[Any, Sequence[Any]], Any]
    """Runs a Python function of the kernel on given values; the interpreter sets it."""

    def __init__(self, signature: Signature, *, unsafe: bool, checked: bool = True) -> None:
        super().__init__(Block())
        self.signature = signature
        self.unsafe = unsafe
        self.checked = checked
        """Whether accesses have bounds checks, which a kernel may switch off."""
        self.unsafe_depth = 0
        """The number of `with tw.unsafe():` around the current place."""
        self.depth = 0
        """The number of conditions and loops around the current place."""
        self.left = False
        """Whether control may have left the function before the current place."""
        self.left_out = False
        """Whether constants have decided against some statements."""
        self.launch_checks: list[LaunchCheck] = []
        self.obligations: list[BoundsCheck] = []
        """The checks that are placed already: of the spans of mapped outputs."""
        self.warned: set[str] = set()
        self.scalars: dict[Value, str] = {}
        """The names of the scalar parameters."""
        self.defining: dict[Value, Op] = {}
        self.unchecked: set[Value] = set()
        """The tiles that were loaded from an unchecked index."""
        self.owned: dict[Value, Space] = {}
        """The tiles that a loop visits, by the coordinates of its owned index."""
        self.hidden: dict[object, tuple[GlobalSpec, Value]] = {}
        """The parameter that has the memory of a global, for each that the kernel uses."""
        self.global_names: dict[Global[Any], str] = {}
        self.witnesses: dict[Value, Expr | None] = {}
        """The values that are a thread's own index; the width of those in two dimensions."""
        self.widths: dict[str, Expr] = {}
        """The width of the witnesses that a slice is written with, by name."""
        self.shared_arrays = 0
        self.cuts: dict[str, Cut] = {}
        """What of a slice a witness stands for: an element, a run or a tile."""

    def op(self, name: str, *operands: Given, regions: Sequence[Block] = (), **attrs: Any) -> Op:
        """Append an op, and remember which values it made."""
        op = super().op(name, *operands, regions=regions, **attrs)
        self.defining.update(dict.fromkeys(op.results, op))
        return op

    @property
    def is_simt(self) -> bool:
        """Whether it is a kernel of threads."""
        return self.signature.block is not None

    def require_threads(self, what: str) -> None:
        """Reject a word of SIMT kernels elsewhere."""
        if not self.is_simt:
            self.fail(
                Code.CALL,
                f"{what} is not supported in a tile kernel",
                expected="a kernel decorated with @simt.kernel",
                got="one decorated with @tw.entry",
            )

    @property
    def surely_runs(self) -> bool:
        """Whether every block gets to the current place.

        Only there may an assertion become a launch check: elsewhere it may never be evaluated.
        """
        return self.depth == 0 and not self.left

    def require_at_launch(self, check: LaunchCheck) -> None:
        """Add a condition the host checks before each launch, once."""
        if all(check.expr != known.expr for known in self.launch_checks):
            self.launch_checks.append(check)

    # --- complaining -------------------------------------------------------------------------

    def fail(
        self,
        code: Code,
        message: str,
        *,
        expected: str | None = None,
        got: str | None = None,
        hint: str | None = None,
        span: Span | None = None,
    ) -> NoReturn:
        """Raise a CompileError at the current place (or at `span`)."""
        where = span or self.span
        # From None: the traceback of an error that a rule has caught shows none of the user's code.
        found = CompileError(message, expected=expected, got=got, hint=hint, span=where, code=code)
        raise found from None

    def warn(
        self,
        message: str,
        hint: str,
        code: Code = Code.PADDING,
        category: type[Warning] = PaddingWarning,
    ) -> None:
        """Warn at the current place, once per text."""
        text = render(CompileError(message, hint=hint, span=self.span, code=code))
        if text not in self.warned:
            self.warned.add(text)
            name, line = (self.span.file.name, self.span.line) if self.span else ("<kernel>", 1)
            warnings.warn_explicit(text, category, name, line)

    def require_unsafe(self, what: str) -> None:
        """Reject an unsafe operation outside of an unsafe entry and of `with tw.unsafe():`."""
        if not self.unsafe and self.unsafe_depth == 0:
            entry = "@simt.kernel" if self.is_simt else "@tw.entry"
            self.fail(
                Code.UNSAFE,
                f"{what} is only allowed in unsafe code",
                hint=f"mark the kernel {entry}(unsafe=True), or put this in `with tw.unsafe():`",
            )

    # --- static arguments --------------------------------------------------------------------

    def static_int(self, x: Any, what: str) -> int:
        """Return an int known while compiling."""
        # bool is an int in Python; as a shape or an axis it is a mistake.
        if isinstance(x, bool) or not isinstance(x, int):
            hint = "use a literal, a shape, or a keyword-only `tl.Const[int]` parameter"
            self.fail(
                Code.NOT_STATIC,
                f"{what} must be a compile-time constant",
                expected="a constant int",
                got=describe(x),
                hint=hint,
            )
        return int(x)

    def static_bool(self, x: Any, what: str) -> bool:
        """Return a bool known while compiling."""
        if not isinstance(x, bool):
            self.fail(
                Code.NOT_STATIC,
                f"{what} must be a compile-time constant",
                expected="True or False",
                got=describe(x),
            )
        return x

    def static_axis(self, x: Any, rank: int, what: str = "axis") -> int:
        """Return an axis of a tile of this rank; negative ones count from the end."""
        axis = self.static_int(x, what)
        if not -rank <= axis < rank:
            self.fail(
                Code.RANK,
                f"{what} {axis} is out of range",
                expected=f"-{rank} <= {what} < {rank}" if rank else "a tile with axes",
                got=str(axis),
            )
        return axis % rank

    def static_dtype(self, x: Any) -> AnyDType:
        """Return an element type known while compiling."""
        if is_dtype(x):
            return as_dtype(x)
        try:
            if isinstance(x, Value | Memory):
                raise TypeError
            return as_dtype(x)
        except TypeError:
            self.fail(
                Code.DTYPE,
                "not an element type",
                expected="an element type such as tw.f32",
                got=describe(x),
            )

    def static_shape(self, x: Any, what: str = "shape") -> Shape:
        """Return a shape of a tile: constant powers of two."""
        dims = x if isinstance(x, tuple | list) else (x,)
        shape = tuple(self.static_int(n, f"{what}[{k}]") for k, n in enumerate(dims))
        for k, n in enumerate(shape):
            if not is_power_of_two(n):
                self.fail(
                    Code.POWER_OF_TWO,
                    f"tile dimensions must be powers of two, {what}[{k}] is {n}",
                    expected="1, 2, 4, 8, ...",
                    got=str(shape),
                    hint=_power_hint(n, what),
                )
        if size(shape) > MAX_TILE_ELEMENTS:
            self.fail(
                Code.RESOURCES,
                "tile too large",
                expected=f"at most {MAX_TILE_ELEMENTS} elements",
                got=f"{shape}: {size(shape)} elements",
            )
        return shape

    # --- tiles -------------------------------------------------------------------------------

    def tile(self, x: Any, dtype: AnyDType | None = None, what: str = "operand") -> Value:
        """Return a tile of numbers: a Value as it is, a Python number as a scalar of `dtype`."""
        if isinstance(x, Value) and isinstance(x.type, TileType):
            return x
        if isinstance(x, bool | int | float) or isinstance(type(x), DTypeMeta):
            return self.number(x, dtype)
        if isinstance(x, Memory):
            self.fail(
                Code.TYPE,
                f"{what} is {describe(x)}, which has no arithmetic",
                expected="a tile or a number",
                got=describe(x),
                hint=_load_hint(x),
            )
        self.fail(
            Code.TYPE, f"{what} is not a tile", expected="a tile or a number", got=describe(x)
        )

    def numbers(self, x: Any, what: str = "operand") -> Value:
        """Return a tile whose elements are numbers, not pointers."""
        value = self.tile(x, what=what)
        if value.tile.is_pointer:
            self.fail(Code.TYPE, f"{what} is a pointer", expected="numbers", got=describe(value))
        return value

    def number(self, x: Any, dtype: AnyDType | None = None) -> Value:
        """Convert a Python number to a constant, of `dtype` if given; it must be representable."""
        if dtype is None:
            dtype = promotion.natural_dtype(x)
        return self.constant(promotion.fit(self, x, dtype), dtype)

    def scalar(self, x: Any, dtype: AnyDType, what: str) -> Value:
        """Return a scalar of exactly this dtype."""
        value = self.numbers(x, what) if isinstance(x, Value) else self.tile(x, dtype, what)
        if value.tile.rank or value.tile.dtype is not dtype:
            self.fail(
                Code.TYPE,
                f"{what} must be a scalar {dtype.name}",
                expected=dtype.name,
                got=describe(value),
            )
        return value

    def index(self, x: Any, what: str = "index") -> Value:
        """Return a scalar i32; other integers are converted where they fit."""
        if isinstance(x, Value) and isinstance(x.type, TileType) and not x.type.is_pointer:
            if x.type.rank == 0 and x.type.dtype is i32:
                return x
            # Wider integers are rejected, not truncated: a wrapped index would pass its check.
            if x.type.rank == 0 and x.type.dtype.is_int and x.type.dtype.bits < 32:
                return self.emit("exti", x, to=i32)
            self.fail(
                Code.TYPE,
                f"{what} must be a scalar i32",
                expected="an int or a scalar i32",
                got=describe(x),
                hint="rows in any order: tl.make_gather_scatter_view(x, shape, axis).load([rows])"
                if x.type.rank
                else "convert it: tw.i32(i)",
            )
        if isinstance(x, bool) or not isinstance(x, int):
            self.fail(
                Code.TYPE, f"{what} must be an integer", expected="an int or i32", got=describe(x)
            )
        return self.number(int(x), i32)

    def condition(self, x: Any, what: str = "condition") -> Value:
        """Return a scalar bool."""
        return self.scalar(x, bool_, what)

    def broadcast_to(self, value: Value, shape: Shape) -> Value:
        """Broadcast as NumPy: axes of length 1 are put in front, then repeated."""
        tile = value.tile
        if tile.shape == shape:
            return value
        if broadcast(tile.shape, shape) != shape:
            self.fail(
                Code.BROADCAST,
                f"shape {tile.shape} does not broadcast to {shape}",
                expected=f"a shape that broadcasts to {shape}",
                got=str(tile.shape),
                hint=INSERT_AXES,
            )
        # The op repeats axes of length 1 only, and changes no rank: a reshape adds the axes.
        ones = (1,) * (len(shape) - tile.rank) + tile.shape
        if ones != tile.shape:
            value = self.emit("reshape", value, shape=ones)
        return value if ones == shape else self.emit("broadcast", value, shape=shape)

    def pair(self, a: Any, b: Any, verb: str = "combine") -> tuple[Value, Value]:
        """Return two operands brought to one dtype by the promotion table and to one shape."""
        left, right = promotion.unify(self, a, b, verb)
        a_shape, b_shape = left.tile.shape, right.tile.shape
        shape = self.common_shape(
            a_shape, b_shape, f"shapes {a_shape} and {b_shape} do not broadcast"
        )
        return self.broadcast_to(left, shape), self.broadcast_to(right, shape)

    def common_shape(self, a: Shape, b: Shape, problem: str) -> Shape:
        """Return the shape to which two shapes broadcast; reject shapes that do not."""
        shape = broadcast(a, b)
        if shape is None:
            self.fail(
                Code.BROADCAST,
                problem,
                expected="equal extents, or 1, on each axis counted from the last",
                got=f"{a} and {b}",
                hint=INSERT_AXES,
            )
        return shape

    def cast(self, value: Value, dtype: AnyDType) -> Value:
        """Convert the elements, whatever the two types are."""
        return promotion.cast(self, value, dtype)


def _power_hint(n: int, what: str) -> str:
    if n == FULL:
        return "only the host knows whole axes: take this extent from the shape of an output"
    if n < 1:
        return "a tile has at least one element along each axis"
    # The shape of an output is the host's choice.
    where = " in its partition" if what.endswith(".shape") else ""
    return f"use {1 << (n - 1).bit_length()}{where}: loads pad beyond the tensor and stores clip"


def _load_hint(x: Memory) -> str:
    if isinstance(x, Indexed):
        return f"read an element: {x.name}[i]"
    if isinstance(x, Global):
        return "load a tile first: g.load()"
    if isinstance(x, TensorRef):
        loads = f"tl.load_tile_like({x.name}, out) or {x.name}.load_tile(shape, index)"
        return f"load a tile first: {loads}"
    if isinstance(x, MappedRef):
        return f"load a tile first: {x.name}.load(index)"
    if isinstance(x, AccumulatorRef):
        return (
            f"a kernel cannot read what its blocks add to: compute with {x.name} in a later launch"
        )
    load = f"{x.name}.load()" if isinstance(x, OutputRef) else "partition.load([i, j])"
    return f"load a tile first: {load}"

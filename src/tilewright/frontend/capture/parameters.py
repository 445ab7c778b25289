"""Parameters of a kernel and the conditions its decorator declares on them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ...base.dtypes import AnyDType
from ...base.errors import Code, CompileError
from ...ir.launch_expr import Expr, LaunchCheck, leaves, show
from ...ir.signature import OutputSpec, Signature, TensorSpec

# -------------------------------------------------------------------------------------------------
# Parameters, read from the annotations of a kernel.

Kind: TypeAlias = Literal["output", "tensor", "tuple", "scalar", "pointer", "const", "absent"]
"""What a parameter takes; an optional one that is given None is absent."""
Dim: TypeAlias = "int | str | tuple[str, str] | None"
"""A fixed extent, the name of a TypeVar, None for any, or ("*", name) for a TypeVarTuple."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: `dtype` may be a TypeVar's name, or None for any; so may `dims`."""

    name: str
    kind: Kind
    dtype: AnyDType | str | None = None
    dims: tuple[Dim, ...] | None = None
    default: Any = inspect.Parameter.empty
    line: int = 0
    mapped: bool = False
    """Whether an output is a mapped one, of which a block visits many tiles."""
    of: type | None = None
    """The class that a constant's values have, where its annotation says one: tl.Const[int]."""
    nameless: bool = False
    """Whether it is given by position alone, as a `/` in the parameter list says."""
    optional: bool = False
    """Whether it may be given None: `tl.Tensor[f32] | None`."""
    shared: bool = False
    """Whether an output is an accumulator, which all blocks add to."""
    variadic: bool = False
    """Whether it stands for all further arguments: `*xs: tl.Tensor`."""
    members: tuple[Parameter, ...] = ()
    """What a tuple has: one parameter for each, or one for all of `tuple[tl.Tensor, ...]`."""
    several: bool = False
    """Whether a tuple has any number of members."""

    def member(self, index: int) -> Parameter:
        """Return the parameter of one of the tensors that it stands for."""
        if self.kind != "tuple":
            return self
        return self.members[0 if self.several else index]


def item_name(name: str, index: int) -> str:
    """Return the name of one argument of a variadic parameter."""
    return f"{name}_{index}"


# -------------------------------------------------------------------------------------------------
# Declared conditions on arguments: `dim("x", 1) == dim("y", 0)`.
#
# Every launch checks them, so the compiler may rely on them.

DECLARED = "a declared precondition does not hold"


@dataclass(frozen=True, eq=False, slots=True)
class Precondition:
    """A condition on extents."""

    expr: Expr

    def __and__(self, other: Precondition) -> Precondition:
        return Precondition(("and", self.expr, other.expr))

    def __bool__(self) -> bool:
        raise TypeError(
            f"the precondition {show(self.expr)} has no truth value before a launch; combine"
            " several in a tuple, or with &"
        )

    def __repr__(self) -> str:
        return f"<precondition {show(self.expr)}>"


class DimExpr:
    """An extent of an argument, or what is computed from extents; comparing gives a condition."""

    __slots__ = ("expr",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __add__(self, other: DimExpr | int) -> DimExpr:
        return DimExpr(("add", self.expr, _expr(other)))

    def __sub__(self, other: DimExpr | int) -> DimExpr:
        return DimExpr(("sub", self.expr, _expr(other)))

    def __mul__(self, other: DimExpr | int) -> DimExpr:
        return DimExpr(("mul", self.expr, _expr(other)))

    def __floordiv__(self, other: DimExpr | int) -> DimExpr:
        return DimExpr(("floordiv", self.expr, _expr(other)))

    def __mod__(self, other: DimExpr | int) -> DimExpr:
        return DimExpr(("mod", self.expr, _expr(other)))

    def __eq__(  # type: ignore[override]
        self,
        other: DimExpr | int,  # pyright: ignore[reportIncompatibleMethodOverride]
    ) -> Precondition:
        return Precondition(("eq", self.expr, _expr(other)))

    def __ne__(  # type: ignore[override]
        self,
        other: DimExpr | int,  # pyright: ignore[reportIncompatibleMethodOverride]
    ) -> Precondition:
        return Precondition(("ne", self.expr, _expr(other)))

    def __lt__(self, other: DimExpr | int) -> Precondition:
        return Precondition(("lt", self.expr, _expr(other)))

    def __le__(self, other: DimExpr | int) -> Precondition:
        return Precondition(("le", self.expr, _expr(other)))

    def __gt__(self, other: DimExpr | int) -> Precondition:
        return Precondition(("gt", self.expr, _expr(other)))

    def __ge__(self, other: DimExpr | int) -> Precondition:
        return Precondition(("ge", self.expr, _expr(other)))

    def __repr__(self) -> str:
        return f"<{show(self.expr)}>"


def _expr(value: DimExpr | int) -> Expr:
    if isinstance(value, DimExpr):
        return value.expr
    if isinstance(value, bool) or not isinstance(value, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"preconditions are about extents and ints, got {value!r}")
    return ("const", value)


def dim(parameter: str, axis: int) -> DimExpr:
    """Return the extent of a tensor parameter along an axis, for `@tw.entry(preconditions=...)`.

    >>> dim("x", 1) == dim("y", 0)
    <precondition x.shape[1] == y.shape[0]>
    >>> dim("x", 0) % 64 == 0
    <precondition (x.shape[0] % 64) == 0>
    """
    return DimExpr(("extent", parameter, axis))


Preconditions: TypeAlias = Precondition | Sequence[Precondition]


@dataclass(frozen=True, slots=True)
class Terms:
    """The conditions that an entry declares for launches, and its options for checks."""

    preconditions: tuple[LaunchCheck, ...] = ()
    deny_in_kernel_checks: bool = False
    unchecked_accesses: bool = False


PLAIN = Terms()
"""Those of most entries."""


@dataclass(frozen=True, slots=True)
class DeclaredConditions:
    """The terms as the decorator takes them."""

    preconditions: Preconditions = ()
    deny_in_kernel_checks: bool = False
    unchecked_accesses: bool = False

    def terms(self, kernel: str, parameters: Sequence[Parameter], *, unsafe: bool) -> Terms:
        """Return the conditions on the launch for a kernel with these parameters."""
        if self.unchecked_accesses and not unsafe:
            raise CompileError(
                f"`{kernel}` must be unsafe to leave its accesses unchecked",
                code=Code.UNSAFE,
                hint="write @tw.entry(unsafe=True, unchecked_accesses=True)",
            )
        conditions = declared(kernel, self.preconditions, parameters)
        return Terms(conditions, self.deny_in_kernel_checks, self.unchecked_accesses)


NOTHING_ASKED = DeclaredConditions()


def declared(
    kernel: str, given: Preconditions, parameters: Sequence[Parameter]
) -> tuple[LaunchCheck, ...]:
    """Return the conditions as launch checks; they may only name tensor parameters."""
    listed = (given,) if isinstance(given, Precondition) else tuple(given)
    for condition in listed:
        if not isinstance(condition, Precondition):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CompileError(
                f"`{kernel}` has an invalid precondition",
                code=Code.ANNOTATION,
                expected='conditions such as tw.dim("x", 1) == tw.dim("y", 0)',
                got=repr(condition),
            )
        for leaf in leaves(condition.expr):
            _check_leaf(kernel, leaf, parameters)
    return tuple(LaunchCheck(c.expr, DECLARED, None) for c in listed)


def require(kernel: str, check: LaunchCheck, signature: Signature) -> None:
    """Reject a condition on an axis that the argument does not have."""
    ranks = {s.name: len(s.shape) for s in signature.params if isinstance(s, _TENSORS)}
    for _, name, axis in leaves(check.expr):
        if axis >= ranks[name]:
            raise CompileError(
                f"a precondition of `{kernel}` refers to axis {axis} of `{name}`",
                code=Code.RANK,
                expected=f"an axis below {ranks[name]}, the rank of the argument",
                got=str(axis),
            )


_TENSORS = (TensorSpec, OutputSpec)


def _check_leaf(kernel: str, leaf: Expr, parameters: Sequence[Parameter]) -> None:
    _, name, axis = leaf
    tensors = {p.name: p for p in parameters if p.kind in ("tensor", "output")}
    if name not in tensors:
        raise CompileError(
            f"a precondition of `{kernel}` refers to `{name}`, which is no tensor parameter",
            code=Code.ANNOTATION,
            expected=f"one of {', '.join(f'`{n}`' for n in tensors) or 'no tensors'}",
            got=f"`{name}`",
        )
    if isinstance(axis, bool) or not isinstance(axis, int) or axis < 0:
        raise CompileError(
            f"a precondition of `{kernel}` refers to axis {axis!r} of `{name}`",
            code=Code.ANNOTATION,
            expected="an axis, counted from 0",
            got=repr(axis),
        )

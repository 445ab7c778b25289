"""Read annotations: which parameter is an output, a tensor, a scalar, a pointer, a constant."""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing
from collections import ChainMap
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import NoneType
from typing import Any, Literal, NoReturn

import typing_extensions

from ...base.dtypes import AnyDType, as_dtype, is_dtype
from ...base.errors import Code, CompileError
from ...lang.memory import MappedPartitionMut
from ...lang.pointer import CONST, Dyn, Ptr
from ...lang.simt import DisjointSlice, Slice
from ...lang.tensor import Accumulator, Tensor, TensorMut
from .parameters import NOTHING_ASKED, DeclaredConditions, Dim, Kind, Parameter
from .sources import Dialect, FunctionSource, KernelSource, function_source

TENSORS: dict[Dialect, dict[object, Kind]] = {
    "tile": {
        TensorMut: "output", MappedPartitionMut: "output", Accumulator: "output", Tensor: "tensor",
    },
    "simt": {DisjointSlice: "output", Slice: "tensor"},
}  # fmt: skip
EXPECTED: dict[Dialect, str] = {
    "tile": "tl.TensorMut, tl.Tensor, tl.Ptr[...], an element type, or tl.Const[...]",
    "simt": "simt.DisjointSlice, simt.Slice, tl.Ptr[...], an element type, or tl.Const[...]",
}
READ: dict[Dialect, str] = {"tile": "tl.Tensor", "simt": "simt.Slice"}
MUT: dict[Dialect, str] = {"tile": "tl.TensorMut", "simt": "simt.DisjointSlice"}
STORES = ("store", "partition_mut")
"""Methods that outputs alone have."""
UNSAFE: dict[Dialect, str] = {
    "tile": "@tw.entry(unsafe=True)", "simt": "@simt.kernel(unsafe=True)"
}  # fmt: skip
WRITE: dict[Dialect, str] = {"tile": "out.store(tile)", "simt": "out[i] = value"}
ARRAYS = {"Tensor", "ndarray", "Array"}
"""Classes of arrays on the host: ours, and those of NumPy, PyTorch and JAX."""
TYPE_VARS = (typing.TypeVar,)
UNIONS = (typing.Union, types.UnionType)
# Before Python 3.12 and 3.14, typing_extensions has separate classes for these.
UNPACK = (typing.Unpack, typing_extensions.Unpack)
ALIASES: tuple[Any, ...] = (
    typing_extensions.TypeAliasType,
    getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType),
)


def capture(
    function: Callable[..., Any],
    *,
    unsafe: bool = False,
    source: str | None = None,
    frame_locals: Mapping[str, Any] | None = None,
    dialect: Dialect = "tile",
    asked: DeclaredConditions = NOTHING_ASKED,
) -> KernelSource:
    """Capture an entry: find its source, resolve and read its annotations."""
    found = function_source(function, source)
    if not isinstance(found.node, ast.FunctionDef):
        raise CompileError(
            "a lambda cannot be a kernel", code=Code.ANNOTATION, hint="write it with def"
        )
    reader = _Reader(found, found.node, function, frame_locals or {}, dialect)
    positional, constants = reader.parameters(unsafe)
    terms = asked.terms(found.name, positional, unsafe=unsafe)
    return KernelSource(
        found.name, found, positional, constants, unsafe, function.__doc__, dialect, terms
    )


class _Reader:
    def __init__(
        self,
        source: FunctionSource,
        node: ast.FunctionDef,
        function: Callable[..., Any],
        frame_locals: Mapping[str, Any],
        dialect: Dialect,
    ) -> None:
        self.dialect: Dialect = dialect
        self.tensors = TENSORS[dialect]
        self.source = source
        self.node = node
        self.function = function
        cells = {name: _content(cell) for name, cell in source.cells.items()}
        params = {p.__name__: p for p in getattr(function, "__type_params__", ())}
        self.names = ChainMap(params, cells, dict(frame_locals))

    def parameters(self, unsafe: bool) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
        args = self.node.args
        if args.kwarg:
            self.fail(
                args.kwarg, f"a kernel cannot take **{args.kwarg.arg}", hint="name each parameter"
            )
        self.check_return()
        signature = inspect.signature(self.function)
        defaults = {name: p.default for name, p in signature.parameters.items()}
        positional = tuple(self.one(a, defaults, unsafe) for a in (*args.posonlyargs, *args.args))
        keyword = tuple(self.one(a, defaults, unsafe) for a in args.kwonlyargs)
        self.check_places(positional, keyword)
        if args.vararg:
            positional += (self.variadic(args.vararg, self.one(args.vararg, defaults, unsafe)),)
        return positional, keyword

    def variadic(self, arg: ast.arg, p: Parameter) -> Parameter:
        """Return the parameter for all further arguments: tensors of one kind."""
        if self.dialect != "tile" or p.kind not in ("tensor", "output") or p.optional:
            self.fail(
                arg,
                f"`*{p.name}` has an unsupported annotation",
                expected=f"*{p.name}: tl.Tensor, or *{p.name}: tl.TensorMut, in a tile kernel",
                got=ast.unparse(arg.annotation) if arg.annotation else "nothing",
                hint="name each parameter",
            )
        self.refuse_item_names(arg)
        return replace(p, variadic=True)

    def check_return(self) -> None:
        returns = self.node.returns
        if returns is not None and self.evaluate(returns) is not None:
            self.fail(
                returns,
                "a kernel cannot return a value",
                expected="-> None",
                got=f"-> {ast.unparse(returns)}",
                hint=f"write results with {WRITE[self.dialect]}",
            )

    def check_places(
        self, positional: tuple[Parameter, ...], keyword: tuple[Parameter, ...]
    ) -> None:
        args = {a.arg: a for a in ast.walk(self.node.args) if isinstance(a, ast.arg)}
        for p in positional:
            if p.kind == "const":
                self.fail(
                    args[p.name],
                    f"constant `{p.name}` must be keyword-only",
                    hint="put it after a bare `*` in the parameter list",
                )
            if p.default is not inspect.Parameter.empty and not (p.optional and p.default is None):
                self.fail(
                    args[p.name],
                    f"positional parameter `{p.name}` has a default",
                    hint="put it after a bare `*` in the parameter list",
                )
        for p in keyword:
            if p.optional:
                self.fail(
                    args[p.name],
                    f"`{p.name}` is optional, and must be positional",
                    expected="only constants and scalars after `*`",
                    got=f"{p.kind} | None",
                    hint=f"a constant may be None: {p.name}: tl.Const[float | None] = None",
                )
            if p.kind not in ("const", "scalar"):
                self.fail(
                    args[p.name],
                    f"`{p.name}` must be positional",
                    expected="only constants and scalars after `*`",
                    got=p.kind,
                )

    def likely(self, name: str) -> str:
        """Return the likely meaning of a parameter: an output if the body stores to it."""
        stored = any(
            isinstance(node, ast.Attribute | ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
            and (isinstance(node.ctx, ast.Store) or getattr(node, "attr", "") in STORES)
            for node in ast.walk(self.node)
        )
        return (MUT if stored else READ)[self.dialect]

    def one(self, arg: ast.arg, defaults: Mapping[str, Any], unsafe: bool) -> Parameter:
        if arg.annotation is None:
            self.fail(
                arg,
                f"parameter `{arg.arg}` has no annotation",
                expected=EXPECTED[self.dialect].replace("tl.Ptr[...], ", ""),
                hint="a kernel is no method: remove it, and write @staticmethod above"
                if arg.arg in ("self", "cls")
                else f"write {arg.arg}: {self.likely(arg.arg)}",
            )
        value, optional = self.without_none(arg, self.annotation(arg.arg, arg.annotation))
        if typing.get_origin(value) is tuple and not optional:
            return self.tuple_of(arg, typing.get_args(value), defaults)
        kind, dtype, dims = self.read(arg, value)
        if kind == "pointer" and not unsafe:
            self.fail(
                arg,
                f"raw pointer `{arg.arg}` in a safe kernel",
                code=Code.UNSAFE,
                hint=f"take a {READ[self.dialect]}, or mark the kernel {UNSAFE[self.dialect]}",
            )
        mapped = MappedPartitionMut in (value, typing.get_origin(value))
        of = _class_of_constant(value) if kind == "const" else None
        nameless = arg in self.node.args.posonlyargs
        return Parameter(
            arg.arg, kind, dtype, dims, defaults[arg.arg], arg.lineno, mapped, of, nameless,
            optional, Accumulator in (value, typing.get_origin(value)),
        )  # fmt: skip

    def tuple_of(
        self, arg: ast.arg, given: tuple[Any, ...], defaults: Mapping[str, Any]
    ) -> Parameter:
        """Return a parameter that takes a tuple of tensors."""
        several = len(given) == 2 and given[1] is Ellipsis
        members = [self.read(arg, _unaliased(each)) for each in given[: 1 if several else None]]
        if self.dialect != "tile" or any(kind not in ("tensor", "output") for kind, *_ in members):
            self.fail(
                arg,
                f"`{arg.arg}` is a tuple with items other than tensors",
                expected=f"{arg.arg}: tuple[tl.Tensor, ...], in a tile kernel",
                got=ast.unparse(arg.annotation) if arg.annotation else "nothing",
                hint="name each parameter",
            )
        self.refuse_item_names(arg)
        made = tuple([Parameter(arg.arg, *member, line=arg.lineno) for member in members])
        return Parameter(
            arg.arg, "tuple", default=defaults[arg.arg], line=arg.lineno,
            nameless=arg in self.node.args.posonlyargs, members=made, several=several,
        )  # fmt: skip

    def refuse_item_names(self, arg: ast.arg) -> None:
        """Raise if another parameter has the name of a tensor that a parameter stands for."""
        taken = {a.arg for a in ast.walk(self.node.args) if isinstance(a, ast.arg)}
        for name in sorted(taken):
            if re.fullmatch(rf"{arg.arg}_[0-9]+", name):
                star = "*" if arg is self.node.args.vararg else ""
                self.fail(
                    arg,
                    f"parameter `{name}` has the name of an item of `{star}{arg.arg}`",
                    hint="rename one of them",
                )

    def without_none(self, arg: ast.arg, value: Any) -> tuple[Any, bool]:
        """Return the types besides None that a parameter takes, and whether it takes None."""
        given: tuple[Any, ...] = typing.get_args(value)
        if typing.get_origin(value) not in UNIONS or NoneType not in given:
            return value, False
        others = [_unaliased(other) for other in given if other is not NoneType]
        if len(others) != 1 or CONST in getattr(others[0], "__metadata__", ()):
            return value, False
        if self.dialect != "tile":
            self.fail(
                arg,
                f"`{arg.arg}` cannot be optional in a SIMT kernel",
                expected=EXPECTED[self.dialect],
                got=ast.unparse(arg.annotation) if arg.annotation else "nothing",
                hint="write two kernels that call one function",
            )
        return others[0], True

    def read(
        self, arg: ast.arg, value: Any
    ) -> tuple[Kind, AnyDType | str | None, tuple[Dim, ...] | None]:
        origin = typing.get_origin(value)
        args: tuple[Any, ...] = typing.get_args(value)
        if value in self.tensors:
            return self.tensors[value], None, None
        if origin in self.tensors:
            element, *rest = args
            dims = tuple(self.dim(arg, d) for d in rest) or None
            return self.tensors[origin], self.element(arg, element), dims
        if origin is Ptr:
            return "pointer", self.element(arg, args[0]), None
        if CONST in getattr(value, "__metadata__", ()):
            return "const", None, None
        if value in (int, float, bool) or is_dtype(value):
            return "scalar", as_dtype(value), None
        if isinstance(value, TYPE_VARS):
            return "scalar", value.__name__, None
        if origin is tuple or value is tuple:
            self.fail(
                arg,
                f"the annotation of `{arg.arg}` does not name the items of the tuple",
                expected=f"{arg.arg}: tuple[tl.Tensor, ...], in a tile kernel",
                got=ast.unparse(arg.annotation) if arg.annotation else "nothing",
                hint=f"write `{arg.arg}: tuple[tl.Tensor, ...]`, or one parameter for each item",
            )
        self.fail(
            arg,
            f"parameter `{arg.arg}` has an unsupported annotation",
            expected=EXPECTED[self.dialect],
            got=ast.unparse(arg.annotation) if arg.annotation else "nothing",
            hint=f"annotate tensors and arrays of the host as {READ[self.dialect]}"
            if ARRAYS & {n.__name__ for n in getattr(origin or value, "__mro__", ())}
            else None,
        )

    def element(self, arg: ast.arg, value: Any) -> AnyDType | str | None:
        value = self.part(value)
        if value is object:
            return None
        if isinstance(value, TYPE_VARS):
            return value.__name__
        try:
            return as_dtype(value)
        except TypeError:
            self.fail(
                arg,
                f"`{arg.arg}`: not an element type",
                expected="an element type such as tw.f32",
                got=repr(value),
            )

    def dim(self, arg: ast.arg, value: Any) -> Dim:
        value = self.part(value)
        if value is Dyn or value == -1:
            return None
        if typing.get_origin(value) is Literal:
            (value,) = typing.get_args(value)
        if isinstance(value, int) and not isinstance(value, bool):
            if value < 0:
                self.fail(
                    arg,
                    f"`{arg.arg}`: extent {value} is negative",
                    expected="a positive int, tl.Dyn or a TypeVar",
                )
            return value
        if isinstance(value, TYPE_VARS):
            return value.__name__
        name = _pack_name(value)
        if name is not None:
            return ("*", name)
        self.fail(
            arg,
            f"`{arg.arg}`: not an extent",
            got=repr(value),
            expected="tl.Dyn, Literal[n], a TypeVar or *S",
        )

    def annotation(self, name: str, node: ast.expr) -> Any:
        """Return the parameter that an annotation declares."""
        try:
            return _unaliased(self.evaluate(node))
        except CompileError:
            # Python may have evaluated it where names were in reach that are not any more.
            known = getattr(self.function, "__annotations__", {}).get(name)
            if known is None or isinstance(known, str):
                raise
            return _unaliased(known)

    def evaluate(self, node: ast.expr) -> Any:
        """Evaluate an annotation where the kernel was defined; strings are annotations too."""
        expression = ast.Expression(node)
        try:
            value = self.look_up(compile(expression, self.source.file.name, "eval"))
            return self.look_up(value) if isinstance(value, str) else value
        except Exception as error:
            self.fail(node, f"the annotation `{ast.unparse(node)}` cannot be evaluated: {error}")

    def part(self, value: Any) -> Any:
        """Return a part of an annotation; a string is a name in scope or an element type."""
        if isinstance(value, str):
            with suppress(NameError, SyntaxError):
                value = self.look_up(value)
        return _unaliased(value)

    def look_up(self, expression: Any) -> Any:
        return eval(expression, dict(self.source.globals), self.names)

    def fail(
        self,
        node: ast.AST,
        message: str,
        *,
        code: Code = Code.ANNOTATION,
        expected: str | None = None,
        got: str | None = None,
        hint: str | None = None,
    ) -> NoReturn:
        raise CompileError(
            message, code=code, span=self.source.span(node), expected=expected, got=got, hint=hint
        )


def _class_of_constant(annotation: Any) -> type | None:
    """Return the class in `tl.Const[int]`; None for several, such as `int | None`."""
    inner = next(iter(typing.get_args(annotation)), None)
    found = typing.get_origin(inner) or inner
    return found if isinstance(found, type) else None


def _pack_name(value: Any) -> str | None:
    """Return the name in `*S`, in either form of the typing module."""
    inner = typing.get_args(value)[:1] if typing.get_origin(value) in UNPACK else (value,)
    pack = inner[0] if inner else None
    return pack.__name__ if isinstance(pack, typing.TypeVarTuple) else None


def _unaliased(value: Any) -> Any:
    """Return the type behind the name of a `type` statement, its own parameters filled in."""
    if isinstance(value, ALIASES):
        return _unaliased(value.__value__)
    origin = typing.get_origin(value)
    if not isinstance(origin, ALIASES):
        return value
    given = dict(zip(origin.__type_params__, typing.get_args(value), strict=True))
    generic = origin.__value__
    return _unaliased(generic[tuple(given[p] for p in generic.__parameters__)])


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None

"""Tracebacks of errors that leave the package: they end at the user's line.

What users call is made *public* here (`publish`): the native core calls it, and has an error that
leaves it lose the frames of Tilewright's own files. Frames of the user's functions in between stay.
`TILEWRIGHT_TRACEBACK=full` keeps all. An error that Tilewright has not raised on purpose keeps
them, too: they show where the mistake is.
"""

from __future__ import annotations

import opcode
from collections.abc import Callable, Generator, Iterable, MutableMapping
from contextlib import (
    AbstractContextManager,
    _GeneratorContextManager,  # pyright: ignore[reportPrivateUsage]
)
from functools import wraps
from types import FunctionType, TracebackType
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

from .._core import make_public, set_trimmer
from .config import current
from .dtypes import DType
from .errors import InternalError
from .location import PACKAGE, frame_at

P = ParamSpec("P")
T = TypeVar("T")

_RAISE = opcode.opmap["RAISE_VARARGS"]
_STATES_FACTS = ("tilewright.testing",)
"""Packages whose failed assertions are about the user's program."""
_BETWEEN = ("contextlib.py", "functools.py", "<frozen importlib._bootstrap>")
"""Files of Python's own that call code for others."""


def trim(error: BaseException) -> None:
    """Trim an error that leaves for the function that calls the core, unless that is ours, too."""
    if not _is_ours(frame_at(1).f_code.co_filename):
        _cut(error)


def trim_here(error: BaseException) -> None:
    """Do as `trim`, where the function of ours that calls this raises the error again.

    Such a `raise` does not put its frame into the traceback once more.
    """
    if not _is_ours(frame_at(2).f_code.co_filename):
        _cut(error)


def _cut(error: BaseException) -> None:
    """Remove our own frames from the tracebacks of an error, and of those it was raised for."""
    if current().traceback == "full":
        return
    todo: list[Any] = [error]
    groups: Any = BaseExceptionGroup
    seen = set[int]()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        todo += [e for e in (each.__cause__, each.__context__) if e is not None]
        if isinstance(each, groups):
            todo += each.exceptions
        if _is_meant(each):
            each.__traceback__ = _without_ours(each.__traceback__)


def _is_meant(error: BaseException) -> bool:
    """Return whether an error is for the user: raised by their code, or on purpose."""
    if isinstance(error, InternalError):
        return False
    last = error.__traceback__
    if last is None or isinstance(error, KeyboardInterrupt):
        return True
    while last.tb_next is not None:
        last = last.tb_next
    frame = last.tb_frame
    code = frame.f_code
    if not _is_ours(code.co_filename):
        return True
    if isinstance(error, AssertionError):
        return str(frame.f_globals.get("__name__")).startswith(_STATES_FACTS)
    return last.tb_lasti >= 0 and code.co_code[last.tb_lasti] == _RAISE


def _without_ours(first: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    beside_ours = True
    while first is not None:
        name = first.tb_frame.f_code.co_filename
        if _is_ours(name):
            beside_ours = True
        elif not (beside_ours and name.endswith(_BETWEEN)):
            kept.append(first)
            beside_ours = False
        first = first.tb_next
    following = None
    for each in reversed(kept):
        each.tb_next = following
        following = each
    return following


def _is_ours(filename: str) -> bool:
    return filename.startswith(PACKAGE)


# -------------------------------------------------------------------------------------------------
# What is public.

_SPECIAL = frozenset((
    "__array__", "__await__", "__bool__", "__call__", "__complex__", "__contains__",
    "__dlpack__", "__dlpack_device__", "__enter__", "__exit__", "__float__", "__getattr__",
    "__getitem__", "__index__", "__init__", "__int__", "__iter__", "__len__", "__new__",
    "__reduce__", "__setitem__", "__array_function__", "__array_ufunc__", "__array_interface__",
    "__cuda_array_interface__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__",
    "__rmul__", "__truediv__", "__rtruediv__", "__matmul__", "__rmatmul__", "__pow__",
    "__neg__", "__abs__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__lshift__",
    "__rlshift__", "__rshift__", "__rrshift__", "__and__", "__rand__", "__or__", "__ror__",
    "__xor__", "__rxor__", "__rpow__", "__pos__", "__invert__", "__lt__", "__le__", "__gt__",
    "__ge__", "__post_init__",
))  # fmt: skip
"""The special methods through which users meet a class."""

_CONCLUDING = frozenset((
    "begun", "capture", "deliver", "graph", "graph_on", "into_future", "schedule", "scheduled",
))  # fmt: skip
"""Methods that need no trimming, or do it by themselves: their result
must have reached its caller before the next handler of a signal runs, and Python would run that
behind native code."""

_FINISHED = set[type]()
_MADE: dict[FunctionType, Any] = {}
"""What users get, by the function behind it: one, under however many names."""


def publish(names: Iterable[str], namespace: MutableMapping[str, Any]) -> None:
    """Make some of a module's functions and classes public, where they stand."""
    for name in names:
        if name in namespace:
            namespace[name] = public(namespace[name])


def public(thing: T) -> T:
    """Return a function as users get it; make the methods of a class public, once."""
    given: Any = thing
    if type(given) is FunctionType:  # what is public already says that it is a function, too
        if given not in _MADE and _is_ours(given.__code__.co_filename):
            _MADE[given] = make_public(given)
        return cast("T", _MADE.get(given, given))
    if isinstance(given, type) and not issubclass(given, BaseException | DType):
        metaclasses: tuple[type, ...] = cast("Any", type)(given).__mro__
        for cls in given.__mro__ + metaclasses:
            if cls.__module__.startswith("tilewright.") and cls not in _FINISHED:
                _FINISHED.add(cls)
                _publish_methods(cls)
    return thing


def _publish_methods(cls: type) -> None:
    for name, found in list(vars(cls).items()):
        if name in _CONCLUDING or (name.startswith("_") and name not in _SPECIAL):
            continue
        made = _method(found)
        if made is not found:
            setattr(cls, name, made)


def _method(found: Any) -> Any:
    if type(found) is FunctionType:
        return public(found)
    if type(found) in (classmethod, staticmethod):
        inner = public(found.__func__)
        return found if inner is found.__func__ else type(found)(inner)
    if type(found) is property:
        kinds: list[Any] = [f and public(f) for f in (found.fget, found.fset, found.fdel)]
        return property(kinds[0], kinds[1], kinds[2], found.__doc__)
    kind = cast("Any", type)(found)
    if type(getattr(kind, "__get__", None)) is FunctionType:  # a descriptor of ours
        kind.__get__ = public(kind.__get__)
    return found


set_trimmer(trim, public)


# Context managers whose code runs in functions of `contextlib`.


_OF_PYTHON: Any = _GeneratorContextManager


@make_public
def _no_attribute(block: Any, name: str) -> NoReturn:
    """Say that an attribute is one of what a context manager gives."""
    if name.startswith("_") or name == "gen":
        raise AttributeError(name, name=name, obj=block)
    made = block.gen.gi_code.co_name
    raise AttributeError(
        f"`{made}(...)` is a context manager: with tw.{made}(...) as it: ..., then it.{name}",
        name=name, obj=block,
    )  # fmt: skip


class _Block(_GeneratorContextManager[T]):
    """A context manager made of a generator, for users."""

    __enter__: Any = make_public(_OF_PYTHON.__enter__)
    __exit__: Any = make_public(_OF_PYTHON.__exit__)
    __getattr__: Any = _no_attribute

    def __repr__(self) -> str:
        made: Any = self.gen
        return f"<context manager of `{made.gi_code.co_name}`, to be used by `with`>"


def block(function: Callable[P, Generator[T]]) -> Callable[P, AbstractContextManager[T]]:
    """Make a context manager of a generator function, as `contextlib.contextmanager` does."""

    @wraps(function)
    def begin(*args: P.args, **named: P.kwargs) -> AbstractContextManager[T]:
        return _Block(function, args, named)

    return begin

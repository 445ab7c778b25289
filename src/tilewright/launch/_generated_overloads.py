"""Kernels typed by their number of arguments. Written by tools/overloads.py; do not edit."""

# The longest match comes first, so that each overload is narrower than those below it.
# pyright: reportOverlappingOverload=false
# mypy: disable-error-code="overload-overlap"

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Never, ParamSpec, Protocol, TypeVar, overload

from ..compile.options import GivenHints
from ..frontend.capture.parameters import DeclaredConditions, Preconditions
from .definition import Entry, make_entry
from .given import KernelArg, OutputArg, TooFewArguments
from .operation import Launch

if TYPE_CHECKING:
    from .outputs import Launch1, Launch2, Launch3, Written

if TYPE_CHECKING:
    from typing import Concatenate, TypeAlias

    from ..op.core import DeviceOp

# fmt: off
P = ParamSpec("P")
A = TypeVar("A", bound=KernelArg)
B = TypeVar("B", bound=KernelArg)
C = TypeVar("C", bound=KernelArg)
D = TypeVar("D", bound=KernelArg)
E = TypeVar("E", bound=KernelArg)
F = TypeVar("F", bound=KernelArg)
G = TypeVar("G", bound=KernelArg)
H = TypeVar("H", bound=KernelArg)
J = TypeVar("J", bound=KernelArg)
K = TypeVar("K", bound=KernelArg)
M = TypeVar("M", bound=KernelArg)
N = TypeVar("N", bound=KernelArg)
Q = TypeVar("Q", bound=KernelArg)
R = TypeVar("R", bound=KernelArg)
S = TypeVar("S", bound=KernelArg)
T = TypeVar("T", bound=KernelArg)
U = TypeVar("U", bound=OutputArg)
V = TypeVar("V", bound=OutputArg)
W = TypeVar("W", bound=OutputArg)

if TYPE_CHECKING:
    Or: TypeAlias = A | DeviceOp[A]
    """What may be given for an argument: it, or an op that gives it."""
    Function0: TypeAlias = Callable[P, None]
    Function1: TypeAlias = Callable[Concatenate[Any, P], None]
    Function1Out1: TypeAlias = Callable[Concatenate[Written, P], None]
    Function2: TypeAlias = Callable[Concatenate[Any, Any, P], None]
    Function2Out1: TypeAlias = Callable[Concatenate[Written, Any, P], None]
    Function2Out2: TypeAlias = Callable[Concatenate[Written, Written, P], None]
    Function3: TypeAlias = Callable[Concatenate[Any, Any, Any, P], None]
    Function3Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, P], None]
    Function3Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, P], None]
    Function3Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, P], None]
    Function4: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, P], None]
    Function4Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, P], None]
    Function4Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, P], None]
    Function4Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, P], None]
    Function5: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, P], None]
    Function5Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, P], None]
    Function5Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, P], None]
    Function5Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, P], None]
    Function6: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, P], None]
    Function6Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, P], None]
    Function6Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, P], None]
    Function6Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, P],
        None]
    Function7: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, P], None]
    Function7Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, Any, P], None]
    Function7Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, Any, P],
        None]
    Function7Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, Any,
        P], None]
    Function8: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, P], None]
    Function8Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, Any, Any, P],
        None]
    Function8Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, Any, Any,
        P], None]
    Function8Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, Any,
        Any, P], None]
    Function9: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, P],
        None]
    Function9Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, Any, Any, Any,
        P], None]
    Function9Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, Any, Any,
        Any, P], None]
    Function9Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, Any,
        Any, Any, P], None]
    Function10: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        P], None]
    Function10Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, P], None]
    Function10Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, Any, Any,
        Any, Any, P], None]
    Function10Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, Any,
        Any, Any, Any, P], None]
    Function11: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, P], None]
    Function11Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, P], None]
    Function11Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, P], None]
    Function11Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, Any,
        Any, Any, Any, Any, P], None]
    Function12: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, P], None]
    Function12Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, P], None]
    Function12Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, P], None]
    Function12Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, P], None]
    Function13: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, P], None]
    Function13Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, P], None]
    Function13Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, P], None]
    Function13Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, P], None]
    Function14: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, P], None]
    Function14Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, P], None]
    Function14Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, P], None]
    Function14Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, Any, P], None]
    Function15: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, P], None]
    Function15Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, Any, P], None]
    Function15Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, Any, P], None]
    Function15Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, Any, Any, P], None]
    Function16: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, P], None]
    Function16Out1: TypeAlias = Callable[Concatenate[Written, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, Any, Any, P], None]
    Function16Out2: TypeAlias = Callable[Concatenate[Written, Written, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, Any, Any, P], None]
    Function16Out3: TypeAlias = Callable[Concatenate[Written, Written, Written, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, Any, Any, Any, P], None]


class Entry0(Entry, Generic[P]):
    """A kernel of 0 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        def __call__(self, /, *args: P.args, **constants: P.kwargs) -> Launch[tuple[()]]: ...


class Entry1(Entry, Generic[P]):
    """A kernel of 1 positional parameter; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], /, *args: P.args,
            **constants: P.kwargs) -> Launch[tuple[A]]: ...
        @overload
        def __call__(self, /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry1Out1(Entry, Generic[P]):
    """A kernel of 1 positional parameter, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], /, *args: P.args,
            **constants: P.kwargs) -> Launch1[tuple[U]]: ...
        @overload
        def __call__(self, /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry2(Entry, Generic[P]):
    """A kernel of 2 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], /, *args: P.args,
            **constants: P.kwargs) -> Launch[tuple[A, B]]: ...
        @overload
        def __call__(self, a: Or[A], /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry2Out1(Entry, Generic[P]):
    """A kernel of 2 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], /, *args: P.args,
            **constants: P.kwargs) -> Launch1[tuple[U, B]]: ...
        @overload
        def __call__(self, u: Or[U], /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry2Out2(Entry, Generic[P]):
    """A kernel of 2 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], /, *args: P.args,
            **constants: P.kwargs) -> Launch2[tuple[U, V]]: ...
        @overload
        def __call__(self, u: Or[U], /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry3(Entry, Generic[P]):
    """A kernel of 3 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], /, *args: P.args,
            **constants: P.kwargs) -> Launch[tuple[A, B, C]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry3Out1(Entry, Generic[P]):
    """A kernel of 3 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], /, *args: P.args,
            **constants: P.kwargs) -> Launch1[tuple[U, B, C]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry3Out2(Entry, Generic[P]):
    """A kernel of 3 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], /, *args: P.args,
            **constants: P.kwargs) -> Launch2[tuple[U, V, C]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry3Out3(Entry, Generic[P]):
    """A kernel of 3 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], /, *args: P.args,
            **constants: P.kwargs) -> Launch3[tuple[U, V, W]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry4(Entry, Generic[P]):
    """A kernel of 4 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], /, *args: P.args,
            **constants: P.kwargs) -> Launch[tuple[A, B, C, D]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry4Out1(Entry, Generic[P]):
    """A kernel of 4 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], /, *args: P.args,
            **constants: P.kwargs) -> Launch1[tuple[U, B, C, D]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry4Out2(Entry, Generic[P]):
    """A kernel of 4 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], /, *args: P.args,
            **constants: P.kwargs) -> Launch2[tuple[U, V, C, D]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry4Out3(Entry, Generic[P]):
    """A kernel of 4 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], /, *args: P.args,
            **constants: P.kwargs) -> Launch3[tuple[U, V, W, D]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry5(Entry, Generic[P]):
    """A kernel of 5 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], /, *args: P.args,
            **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry5Out1(Entry, Generic[P]):
    """A kernel of 5 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], /, *args: P.args,
            **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry5Out2(Entry, Generic[P]):
    """A kernel of 5 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], /, *args: P.args,
            **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry5Out3(Entry, Generic[P]):
    """A kernel of 5 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], /, *args: P.args,
            **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry6(Entry, Generic[P]):
    """A kernel of 6 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], /,
            *args: P.args, **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E, F]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry6Out1(Entry, Generic[P]):
    """A kernel of 6 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], /,
            *args: P.args, **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E, F]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry6Out2(Entry, Generic[P]):
    """A kernel of 6 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], /,
            *args: P.args, **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E, F]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry6Out3(Entry, Generic[P]):
    """A kernel of 6 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], /,
            *args: P.args, **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E, F]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry7(Entry, Generic[P]):
    """A kernel of 7 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G], /,
            *args: P.args, **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E, F, G]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry7Out1(Entry, Generic[P]):
    """A kernel of 7 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G], /,
            *args: P.args, **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E, F, G]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry7Out2(Entry, Generic[P]):
    """A kernel of 7 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G], /,
            *args: P.args, **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E, F, G]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry7Out3(Entry, Generic[P]):
    """A kernel of 7 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], g: Or[G], /,
            *args: P.args, **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E, F, G]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry8(Entry, Generic[P]):
    """A kernel of 8 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], /, *args: P.args, **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E, F, G,
            H]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry8Out1(Entry, Generic[P]):
    """A kernel of 8 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], /, *args: P.args, **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E, F, G,
            H]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry8Out2(Entry, Generic[P]):
    """A kernel of 8 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], /, *args: P.args, **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E, F, G,
            H]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry8Out3(Entry, Generic[P]):
    """A kernel of 8 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], /, *args: P.args, **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E, F, G,
            H]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry9(Entry, Generic[P]):
    """A kernel of 9 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], /, *args: P.args, **constants: P.kwargs) -> Launch[tuple[A, B, C, D,
            E, F, G, H, J]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry9Out1(Entry, Generic[P]):
    """A kernel of 9 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], /, *args: P.args, **constants: P.kwargs) -> Launch1[tuple[U, B, C,
            D, E, F, G, H, J]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry9Out2(Entry, Generic[P]):
    """A kernel of 9 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], /, *args: P.args, **constants: P.kwargs) -> Launch2[tuple[U, V, C,
            D, E, F, G, H, J]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry9Out3(Entry, Generic[P]):
    """A kernel of 9 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], /, *args: P.args, **constants: P.kwargs) -> Launch3[tuple[U, V, W,
            D, E, F, G, H, J]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry10(Entry, Generic[P]):
    """A kernel of 10 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], /, *args: P.args,
            **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E, F, G, H, J, K]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry10Out1(Entry, Generic[P]):
    """A kernel of 10 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], /, *args: P.args,
            **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E, F, G, H, J, K]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry10Out2(Entry, Generic[P]):
    """A kernel of 10 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], /, *args: P.args,
            **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E, F, G, H, J, K]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry10Out3(Entry, Generic[P]):
    """A kernel of 10 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], /, *args: P.args,
            **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E, F, G, H, J, K]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry11(Entry, Generic[P]):
    """A kernel of 11 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], /, *args: P.args,
            **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E, F, G, H, J, K, M]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry11Out1(Entry, Generic[P]):
    """A kernel of 11 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], /, *args: P.args,
            **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E, F, G, H, J, K, M]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry11Out2(Entry, Generic[P]):
    """A kernel of 11 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], /, *args: P.args,
            **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E, F, G, H, J, K, M]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry11Out3(Entry, Generic[P]):
    """A kernel of 11 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], /, *args: P.args,
            **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E, F, G, H, J, K, M]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry12(Entry, Generic[P]):
    """A kernel of 12 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], /, *args: P.args,
            **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E, F, G, H, J, K, M, N]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry12Out1(Entry, Generic[P]):
    """A kernel of 12 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], /, *args: P.args,
            **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E, F, G, H, J, K, M, N]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry12Out2(Entry, Generic[P]):
    """A kernel of 12 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], /, *args: P.args,
            **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E, F, G, H, J, K, M, N]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry12Out3(Entry, Generic[P]):
    """A kernel of 12 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], /, *args: P.args,
            **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E, F, G, H, J, K, M, N]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry13(Entry, Generic[P]):
    """A kernel of 13 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], /, *args: P.args,
            **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E, F, G, H, J, K, M, N, Q]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry13Out1(Entry, Generic[P]):
    """A kernel of 13 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], /, *args: P.args,
            **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E, F, G, H, J, K, M, N, Q]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry13Out2(Entry, Generic[P]):
    """A kernel of 13 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], /, *args: P.args,
            **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E, F, G, H, J, K, M, N, Q]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry13Out3(Entry, Generic[P]):
    """A kernel of 13 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], /, *args: P.args,
            **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E, F, G, H, J, K, M, N, Q]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry14(Entry, Generic[P]):
    """A kernel of 14 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], /, *args: P.args,
            **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E, F, G, H, J, K, M, N, Q, R]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry14Out1(Entry, Generic[P]):
    """A kernel of 14 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], /, *args: P.args,
            **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E, F, G, H, J, K, M, N, Q, R]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry14Out2(Entry, Generic[P]):
    """A kernel of 14 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], /, *args: P.args,
            **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E, F, G, H, J, K, M, N, Q, R]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry14Out3(Entry, Generic[P]):
    """A kernel of 14 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], /, *args: P.args,
            **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E, F, G, H, J, K, M, N, Q, R]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry15(Entry, Generic[P]):
    """A kernel of 15 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], s: Or[S], /,
            *args: P.args, **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E, F, G, H, J, K, M,
            N, Q, R, S]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry15Out1(Entry, Generic[P]):
    """A kernel of 15 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], s: Or[S], /,
            *args: P.args, **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E, F, G, H, J, K, M,
            N, Q, R, S]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry15Out2(Entry, Generic[P]):
    """A kernel of 15 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], s: Or[S], /,
            *args: P.args, **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E, F, G, H, J, K, M,
            N, Q, R, S]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry15Out3(Entry, Generic[P]):
    """A kernel of 15 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], s: Or[S], /,
            *args: P.args, **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E, F, G, H, J, K, M,
            N, Q, R, S]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ..., /,
            **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry16(Entry, Generic[P]):
    """A kernel of 16 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], s: Or[S],
            t: Or[T], /, *args: P.args, **constants: P.kwargs) -> Launch[tuple[A, B, C, D, E, F, G,
            H, J, K, M, N, Q, R, S, T]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ..., s: Or[S] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ...,
            s: Or[S] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry16Out1(Entry, Generic[P]):
    """A kernel of 16 positional parameters, 1 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], s: Or[S],
            t: Or[T], /, *args: P.args, **constants: P.kwargs) -> Launch1[tuple[U, B, C, D, E, F, G,
            H, J, K, M, N, Q, R, S, T]]: ...
        @overload
        def __call__(self, u: Or[U], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ..., s: Or[S] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ...,
            s: Or[S] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry16Out2(Entry, Generic[P]):
    """A kernel of 16 positional parameters, 2 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], s: Or[S],
            t: Or[T], /, *args: P.args, **constants: P.kwargs) -> Launch2[tuple[U, V, C, D, E, F, G,
            H, J, K, M, N, Q, R, S, T]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ..., s: Or[S] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ...,
            s: Or[S] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Entry16Out3(Entry, Generic[P]):
    """A kernel of 16 positional parameters, 3 of them written; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, u: Or[U], v: Or[V], w: Or[W], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], s: Or[S],
            t: Or[T], /, *args: P.args, **constants: P.kwargs) -> Launch3[tuple[U, V, W, D, E, F, G,
            H, J, K, M, N, Q, R, S, T]]: ...
        @overload
        def __call__(self, u: Or[U], v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ..., s: Or[S] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, u: Or[U] = ..., v: Or[V] = ..., w: Or[W] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ...,
            s: Or[S] = ..., /, **by_name: Any) -> Launch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Variadic(Protocol):
    """A function with `*xs`: a function without it does not take any number of arguments."""

    def __call__(self, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, j: Any,
        k: Any, m: Any, n: Any, q: Any, r: Any, s: Any, t: Any, z: Any, /, *xs: Never) -> None: ...


class EntryVariadic(Entry):
    """A kernel of any number of tensors."""

    if TYPE_CHECKING:
        def __call__(
            self, /, *args: KernelArg | DeviceOp[Any], **constants: Any
        ) -> Launch[tuple[Any, ...]]: ...


class Decorator(Protocol):
    """What `@tw.entry(...)` with options gives."""

    @overload
    def __call__(self, function: Variadic, /) -> EntryVariadic: ...
    @overload
    def __call__(self, function: Function16Out3[P], /) -> Entry16Out3[P]: ...
    @overload
    def __call__(self, function: Function16Out2[P], /) -> Entry16Out2[P]: ...
    @overload
    def __call__(self, function: Function16Out1[P], /) -> Entry16Out1[P]: ...
    @overload
    def __call__(self, function: Function16[P], /) -> Entry16[P]: ...
    @overload
    def __call__(self, function: Function15Out3[P], /) -> Entry15Out3[P]: ...
    @overload
    def __call__(self, function: Function15Out2[P], /) -> Entry15Out2[P]: ...
    @overload
    def __call__(self, function: Function15Out1[P], /) -> Entry15Out1[P]: ...
    @overload
    def __call__(self, function: Function15[P], /) -> Entry15[P]: ...
    @overload
    def __call__(self, function: Function14Out3[P], /) -> Entry14Out3[P]: ...
    @overload
    def __call__(self, function: Function14Out2[P], /) -> Entry14Out2[P]: ...
    @overload
    def __call__(self, function: Function14Out1[P], /) -> Entry14Out1[P]: ...
    @overload
    def __call__(self, function: Function14[P], /) -> Entry14[P]: ...
    @overload
    def __call__(self, function: Function13Out3[P], /) -> Entry13Out3[P]: ...
    @overload
    def __call__(self, function: Function13Out2[P], /) -> Entry13Out2[P]: ...
    @overload
    def __call__(self, function: Function13Out1[P], /) -> Entry13Out1[P]: ...
    @overload
    def __call__(self, function: Function13[P], /) -> Entry13[P]: ...
    @overload
    def __call__(self, function: Function12Out3[P], /) -> Entry12Out3[P]: ...
    @overload
    def __call__(self, function: Function12Out2[P], /) -> Entry12Out2[P]: ...
    @overload
    def __call__(self, function: Function12Out1[P], /) -> Entry12Out1[P]: ...
    @overload
    def __call__(self, function: Function12[P], /) -> Entry12[P]: ...
    @overload
    def __call__(self, function: Function11Out3[P], /) -> Entry11Out3[P]: ...
    @overload
    def __call__(self, function: Function11Out2[P], /) -> Entry11Out2[P]: ...
    @overload
    def __call__(self, function: Function11Out1[P], /) -> Entry11Out1[P]: ...
    @overload
    def __call__(self, function: Function11[P], /) -> Entry11[P]: ...
    @overload
    def __call__(self, function: Function10Out3[P], /) -> Entry10Out3[P]: ...
    @overload
    def __call__(self, function: Function10Out2[P], /) -> Entry10Out2[P]: ...
    @overload
    def __call__(self, function: Function10Out1[P], /) -> Entry10Out1[P]: ...
    @overload
    def __call__(self, function: Function10[P], /) -> Entry10[P]: ...
    @overload
    def __call__(self, function: Function9Out3[P], /) -> Entry9Out3[P]: ...
    @overload
    def __call__(self, function: Function9Out2[P], /) -> Entry9Out2[P]: ...
    @overload
    def __call__(self, function: Function9Out1[P], /) -> Entry9Out1[P]: ...
    @overload
    def __call__(self, function: Function9[P], /) -> Entry9[P]: ...
    @overload
    def __call__(self, function: Function8Out3[P], /) -> Entry8Out3[P]: ...
    @overload
    def __call__(self, function: Function8Out2[P], /) -> Entry8Out2[P]: ...
    @overload
    def __call__(self, function: Function8Out1[P], /) -> Entry8Out1[P]: ...
    @overload
    def __call__(self, function: Function8[P], /) -> Entry8[P]: ...
    @overload
    def __call__(self, function: Function7Out3[P], /) -> Entry7Out3[P]: ...
    @overload
    def __call__(self, function: Function7Out2[P], /) -> Entry7Out2[P]: ...
    @overload
    def __call__(self, function: Function7Out1[P], /) -> Entry7Out1[P]: ...
    @overload
    def __call__(self, function: Function7[P], /) -> Entry7[P]: ...
    @overload
    def __call__(self, function: Function6Out3[P], /) -> Entry6Out3[P]: ...
    @overload
    def __call__(self, function: Function6Out2[P], /) -> Entry6Out2[P]: ...
    @overload
    def __call__(self, function: Function6Out1[P], /) -> Entry6Out1[P]: ...
    @overload
    def __call__(self, function: Function6[P], /) -> Entry6[P]: ...
    @overload
    def __call__(self, function: Function5Out3[P], /) -> Entry5Out3[P]: ...
    @overload
    def __call__(self, function: Function5Out2[P], /) -> Entry5Out2[P]: ...
    @overload
    def __call__(self, function: Function5Out1[P], /) -> Entry5Out1[P]: ...
    @overload
    def __call__(self, function: Function5[P], /) -> Entry5[P]: ...
    @overload
    def __call__(self, function: Function4Out3[P], /) -> Entry4Out3[P]: ...
    @overload
    def __call__(self, function: Function4Out2[P], /) -> Entry4Out2[P]: ...
    @overload
    def __call__(self, function: Function4Out1[P], /) -> Entry4Out1[P]: ...
    @overload
    def __call__(self, function: Function4[P], /) -> Entry4[P]: ...
    @overload
    def __call__(self, function: Function3Out3[P], /) -> Entry3Out3[P]: ...
    @overload
    def __call__(self, function: Function3Out2[P], /) -> Entry3Out2[P]: ...
    @overload
    def __call__(self, function: Function3Out1[P], /) -> Entry3Out1[P]: ...
    @overload
    def __call__(self, function: Function3[P], /) -> Entry3[P]: ...
    @overload
    def __call__(self, function: Function2Out2[P], /) -> Entry2Out2[P]: ...
    @overload
    def __call__(self, function: Function2Out1[P], /) -> Entry2Out1[P]: ...
    @overload
    def __call__(self, function: Function2[P], /) -> Entry2[P]: ...
    @overload
    def __call__(self, function: Function1Out1[P], /) -> Entry1Out1[P]: ...
    @overload
    def __call__(self, function: Function1[P], /) -> Entry1[P]: ...
    @overload
    def __call__(self, function: Function0[P], /) -> Entry0[P]: ...


@overload
def entry(function: Variadic, /) -> EntryVariadic: ...
@overload
def entry(function: Function16Out3[P], /) -> Entry16Out3[P]: ...
@overload
def entry(function: Function16Out2[P], /) -> Entry16Out2[P]: ...
@overload
def entry(function: Function16Out1[P], /) -> Entry16Out1[P]: ...
@overload
def entry(function: Function16[P], /) -> Entry16[P]: ...
@overload
def entry(function: Function15Out3[P], /) -> Entry15Out3[P]: ...
@overload
def entry(function: Function15Out2[P], /) -> Entry15Out2[P]: ...
@overload
def entry(function: Function15Out1[P], /) -> Entry15Out1[P]: ...
@overload
def entry(function: Function15[P], /) -> Entry15[P]: ...
@overload
def entry(function: Function14Out3[P], /) -> Entry14Out3[P]: ...
@overload
def entry(function: Function14Out2[P], /) -> Entry14Out2[P]: ...
@overload
def entry(function: Function14Out1[P], /) -> Entry14Out1[P]: ...
@overload
def entry(function: Function14[P], /) -> Entry14[P]: ...
@overload
def entry(function: Function13Out3[P], /) -> Entry13Out3[P]: ...
@overload
def entry(function: Function13Out2[P], /) -> Entry13Out2[P]: ...
@overload
def entry(function: Function13Out1[P], /) -> Entry13Out1[P]: ...
@overload
def entry(function: Function13[P], /) -> Entry13[P]: ...
@overload
def entry(function: Function12Out3[P], /) -> Entry12Out3[P]: ...
@overload
def entry(function: Function12Out2[P], /) -> Entry12Out2[P]: ...
@overload
def entry(function: Function12Out1[P], /) -> Entry12Out1[P]: ...
@overload
def entry(function: Function12[P], /) -> Entry12[P]: ...
@overload
def entry(function: Function11Out3[P], /) -> Entry11Out3[P]: ...
@overload
def entry(function: Function11Out2[P], /) -> Entry11Out2[P]: ...
@overload
def entry(function: Function11Out1[P], /) -> Entry11Out1[P]: ...
@overload
def entry(function: Function11[P], /) -> Entry11[P]: ...
@overload
def entry(function: Function10Out3[P], /) -> Entry10Out3[P]: ...
@overload
def entry(function: Function10Out2[P], /) -> Entry10Out2[P]: ...
@overload
def entry(function: Function10Out1[P], /) -> Entry10Out1[P]: ...
@overload
def entry(function: Function10[P], /) -> Entry10[P]: ...
@overload
def entry(function: Function9Out3[P], /) -> Entry9Out3[P]: ...
@overload
def entry(function: Function9Out2[P], /) -> Entry9Out2[P]: ...
@overload
def entry(function: Function9Out1[P], /) -> Entry9Out1[P]: ...
@overload
def entry(function: Function9[P], /) -> Entry9[P]: ...
@overload
def entry(function: Function8Out3[P], /) -> Entry8Out3[P]: ...
@overload
def entry(function: Function8Out2[P], /) -> Entry8Out2[P]: ...
@overload
def entry(function: Function8Out1[P], /) -> Entry8Out1[P]: ...
@overload
def entry(function: Function8[P], /) -> Entry8[P]: ...
@overload
def entry(function: Function7Out3[P], /) -> Entry7Out3[P]: ...
@overload
def entry(function: Function7Out2[P], /) -> Entry7Out2[P]: ...
@overload
def entry(function: Function7Out1[P], /) -> Entry7Out1[P]: ...
@overload
def entry(function: Function7[P], /) -> Entry7[P]: ...
@overload
def entry(function: Function6Out3[P], /) -> Entry6Out3[P]: ...
@overload
def entry(function: Function6Out2[P], /) -> Entry6Out2[P]: ...
@overload
def entry(function: Function6Out1[P], /) -> Entry6Out1[P]: ...
@overload
def entry(function: Function6[P], /) -> Entry6[P]: ...
@overload
def entry(function: Function5Out3[P], /) -> Entry5Out3[P]: ...
@overload
def entry(function: Function5Out2[P], /) -> Entry5Out2[P]: ...
@overload
def entry(function: Function5Out1[P], /) -> Entry5Out1[P]: ...
@overload
def entry(function: Function5[P], /) -> Entry5[P]: ...
@overload
def entry(function: Function4Out3[P], /) -> Entry4Out3[P]: ...
@overload
def entry(function: Function4Out2[P], /) -> Entry4Out2[P]: ...
@overload
def entry(function: Function4Out1[P], /) -> Entry4Out1[P]: ...
@overload
def entry(function: Function4[P], /) -> Entry4[P]: ...
@overload
def entry(function: Function3Out3[P], /) -> Entry3Out3[P]: ...
@overload
def entry(function: Function3Out2[P], /) -> Entry3Out2[P]: ...
@overload
def entry(function: Function3Out1[P], /) -> Entry3Out1[P]: ...
@overload
def entry(function: Function3[P], /) -> Entry3[P]: ...
@overload
def entry(function: Function2Out2[P], /) -> Entry2Out2[P]: ...
@overload
def entry(function: Function2Out1[P], /) -> Entry2Out1[P]: ...
@overload
def entry(function: Function2[P], /) -> Entry2[P]: ...
@overload
def entry(function: Function1Out1[P], /) -> Entry1Out1[P]: ...
@overload
def entry(function: Function1[P], /) -> Entry1[P]: ...
@overload
def entry(function: Function0[P], /) -> Entry0[P]: ...
# fmt: on
@overload
def entry(
    *,
    unsafe: bool = False,
    source: str | None = None,
    preconditions: Preconditions = (),
    deny_in_kernel_checks: bool = False,
    unchecked_accesses: bool = False,
    hints: GivenHints = None,
) -> Decorator: ...
def entry(
    function: Callable[..., None] | None = None,
    /,
    *,
    unsafe: bool = False,
    source: str | None = None,
    preconditions: Preconditions = (),
    deny_in_kernel_checks: bool = False,
    unchecked_accesses: bool = False,
    hints: GivenHints = None,
) -> Any:
    """Turn a function into a kernel: `@tw.entry`, or `@tw.entry(unsafe=True)`.

    Calling the kernel builds the op that runs it; its result is the tuple of the very objects
    passed. `unsafe=True` allows raw pointers, and its launches are built inside `tw.unsafe()`.
    `source` is the text to compile where Python cannot show it.

    `preconditions` are conditions on extents, such as `tw.dim("x", 1) == tw.dim("y", 0)`: each
    launch checks them, and the compiler believes them. With `deny_in_kernel_checks=True` it is an
    error if the kernel must check an index itself; with `unchecked_accesses=True`, which needs
    `unsafe=True`, none is checked.

    `hints` are for the code generator on CUDA: a `CompileOptions`, or a mapping from architectures
    to them, such as `{"sm_90": tw.CompileOptions(occupancy=2)}`, where `"default"` holds for what
    an architecture does not say. What a launch asks by `.compile_options(...)` goes before them.
    """
    asked = DeclaredConditions(preconditions, deny_in_kernel_checks, unchecked_accesses)
    return make_entry(function, unsafe=unsafe, source=source, asked=asked, hints=hints)

"""SIMT kernels typed by their number of arguments. Written by tools/overloads.py; do not edit."""

# The longest match comes first, so that each overload is narrower than those below it.
# pyright: reportOverlappingOverload=false
# mypy: disable-error-code="overload-overlap"

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, overload

from ..tensors.shape import ShapeLike
from .given import KernelArg, TooFewArguments
from .simt import SimtEntry, SimtLaunch, make_kernel

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

if TYPE_CHECKING:
    Or: TypeAlias = A | DeviceOp[A]
    """What may be given for an argument: it, or an op that gives it."""
    Function0: TypeAlias = Callable[P, None]
    Function1: TypeAlias = Callable[Concatenate[Any, P], None]
    Function2: TypeAlias = Callable[Concatenate[Any, Any, P], None]
    Function3: TypeAlias = Callable[Concatenate[Any, Any, Any, P], None]
    Function4: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, P], None]
    Function5: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, P], None]
    Function6: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, P], None]
    Function7: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, P], None]
    Function8: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, P], None]
    Function9: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, P],
        None]
    Function10: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        P], None]
    Function11: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, P], None]
    Function12: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, P], None]
    Function13: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, P], None]
    Function14: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, P], None]
    Function15: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, P], None]
    Function16: TypeAlias = Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
        Any, Any, Any, Any, Any, Any, P], None]


class Simt0(SimtEntry, Generic[P]):
    """A SIMT kernel of 0 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        def __call__(self, /, *args: P.args, **constants: P.kwargs) -> SimtLaunch[tuple[()]]: ...


class Simt1(SimtEntry, Generic[P]):
    """A SIMT kernel of 1 positional parameter; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], /, *args: P.args,
            **constants: P.kwargs) -> SimtLaunch[tuple[A]]: ...
        @overload
        def __call__(self, /, **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt2(SimtEntry, Generic[P]):
    """A SIMT kernel of 2 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], /, *args: P.args,
            **constants: P.kwargs) -> SimtLaunch[tuple[A, B]]: ...
        @overload
        def __call__(self, a: Or[A], /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., /, **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt3(SimtEntry, Generic[P]):
    """A SIMT kernel of 3 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], /, *args: P.args,
            **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., /,
            **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt4(SimtEntry, Generic[P]):
    """A SIMT kernel of 4 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], /, *args: P.args,
            **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., /,
            **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt5(SimtEntry, Generic[P]):
    """A SIMT kernel of 5 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], /, *args: P.args,
            **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., /,
            **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt6(SimtEntry, Generic[P]):
    """A SIMT kernel of 6 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], /,
            *args: P.args, **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E, F]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., /, **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt7(SimtEntry, Generic[P]):
    """A SIMT kernel of 7 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G], /,
            *args: P.args, **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E, F, G]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., /, **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt8(SimtEntry, Generic[P]):
    """A SIMT kernel of 8 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], /, *args: P.args, **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E, F,
            G, H]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., /,
            **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt9(SimtEntry, Generic[P]):
    """A SIMT kernel of 9 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], /, *args: P.args, **constants: P.kwargs) -> SimtLaunch[tuple[A, B,
            C, D, E, F, G, H, J]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., /,
            **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt10(SimtEntry, Generic[P]):
    """A SIMT kernel of 10 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], /, *args: P.args,
            **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E, F, G, H, J, K]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., /,
            **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt11(SimtEntry, Generic[P]):
    """A SIMT kernel of 11 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], /, *args: P.args,
            **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E, F, G, H, J, K, M]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., /, **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt12(SimtEntry, Generic[P]):
    """A SIMT kernel of 12 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], /, *args: P.args,
            **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E, F, G, H, J, K, M, N]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., /, **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt13(SimtEntry, Generic[P]):
    """A SIMT kernel of 13 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], /, *args: P.args,
            **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E, F, G, H, J, K, M, N, Q]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., /,
            **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt14(SimtEntry, Generic[P]):
    """A SIMT kernel of 14 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], /, *args: P.args,
            **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E, F, G, H, J, K, M, N, Q,
            R]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., /,
            **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt15(SimtEntry, Generic[P]):
    """A SIMT kernel of 15 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], s: Or[S], /,
            *args: P.args, **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E, F, G, H, J, K,
            M, N, Q, R, S]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ..., /,
            **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Simt16(SimtEntry, Generic[P]):
    """A SIMT kernel of 16 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:
        @overload
        def __call__(self, a: Or[A], b: Or[B], c: Or[C], d: Or[D], e: Or[E], f: Or[F], g: Or[G],
            h: Or[H], j: Or[J], k: Or[K], m: Or[M], n: Or[N], q: Or[Q], r: Or[R], s: Or[S],
            t: Or[T], /, *args: P.args, **constants: P.kwargs) -> SimtLaunch[tuple[A, B, C, D, E, F,
            G, H, J, K, M, N, Q, R, S, T]]: ...
        @overload
        def __call__(self, a: Or[A], b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ..., e: Or[E] = ...,
            f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ..., k: Or[K] = ...,
            m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ..., s: Or[S] = ...,
            /) -> TooFewArguments: ...
        @overload
        def __call__(self, a: Or[A] = ..., b: Or[B] = ..., c: Or[C] = ..., d: Or[D] = ...,
            e: Or[E] = ..., f: Or[F] = ..., g: Or[G] = ..., h: Or[H] = ..., j: Or[J] = ...,
            k: Or[K] = ..., m: Or[M] = ..., n: Or[N] = ..., q: Or[Q] = ..., r: Or[R] = ...,
            s: Or[S] = ..., /, **by_name: Any) -> SimtLaunch[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...


class Decorator(Protocol):
    """What `@simt.kernel(...)` with options gives."""

    @overload
    def __call__(self, function: Function16[P], /) -> Simt16[P]: ...
    @overload
    def __call__(self, function: Function15[P], /) -> Simt15[P]: ...
    @overload
    def __call__(self, function: Function14[P], /) -> Simt14[P]: ...
    @overload
    def __call__(self, function: Function13[P], /) -> Simt13[P]: ...
    @overload
    def __call__(self, function: Function12[P], /) -> Simt12[P]: ...
    @overload
    def __call__(self, function: Function11[P], /) -> Simt11[P]: ...
    @overload
    def __call__(self, function: Function10[P], /) -> Simt10[P]: ...
    @overload
    def __call__(self, function: Function9[P], /) -> Simt9[P]: ...
    @overload
    def __call__(self, function: Function8[P], /) -> Simt8[P]: ...
    @overload
    def __call__(self, function: Function7[P], /) -> Simt7[P]: ...
    @overload
    def __call__(self, function: Function6[P], /) -> Simt6[P]: ...
    @overload
    def __call__(self, function: Function5[P], /) -> Simt5[P]: ...
    @overload
    def __call__(self, function: Function4[P], /) -> Simt4[P]: ...
    @overload
    def __call__(self, function: Function3[P], /) -> Simt3[P]: ...
    @overload
    def __call__(self, function: Function2[P], /) -> Simt2[P]: ...
    @overload
    def __call__(self, function: Function1[P], /) -> Simt1[P]: ...
    @overload
    def __call__(self, function: Function0[P], /) -> Simt0[P]: ...


@overload
def kernel(function: Function16[P], /) -> Simt16[P]: ...
@overload
def kernel(function: Function15[P], /) -> Simt15[P]: ...
@overload
def kernel(function: Function14[P], /) -> Simt14[P]: ...
@overload
def kernel(function: Function13[P], /) -> Simt13[P]: ...
@overload
def kernel(function: Function12[P], /) -> Simt12[P]: ...
@overload
def kernel(function: Function11[P], /) -> Simt11[P]: ...
@overload
def kernel(function: Function10[P], /) -> Simt10[P]: ...
@overload
def kernel(function: Function9[P], /) -> Simt9[P]: ...
@overload
def kernel(function: Function8[P], /) -> Simt8[P]: ...
@overload
def kernel(function: Function7[P], /) -> Simt7[P]: ...
@overload
def kernel(function: Function6[P], /) -> Simt6[P]: ...
@overload
def kernel(function: Function5[P], /) -> Simt5[P]: ...
@overload
def kernel(function: Function4[P], /) -> Simt4[P]: ...
@overload
def kernel(function: Function3[P], /) -> Simt3[P]: ...
@overload
def kernel(function: Function2[P], /) -> Simt2[P]: ...
@overload
def kernel(function: Function1[P], /) -> Simt1[P]: ...
@overload
def kernel(function: Function0[P], /) -> Simt0[P]: ...
# fmt: on
@overload
def kernel(
    *,
    domain: int = 1,
    block: ShapeLike | None = None,
    unsafe: bool = False,
    source: str | None = None,
) -> Decorator: ...
def kernel(
    function: Callable[..., None] | None = None,
    /,
    *,
    domain: int = 1,
    block: ShapeLike | None = None,
    unsafe: bool = False,
    source: str | None = None,
) -> Any:
    """Turn a function into a SIMT kernel: `@simt.kernel`, or `@simt.kernel(domain=2)`.

    Every thread runs the function; calling the kernel builds the op that starts them, and its
    result is the tuple of the very objects passed. `domain` is the number of axes of its launches,
    `block` the exact shape of their blocks. `unsafe=True` allows raw pointers, and its launches
    are built inside `tw.unsafe()`. `source` is the text to compile where Python cannot show it.
    """
    return make_kernel(function, domain=domain, block=block, unsafe=unsafe, source=source)

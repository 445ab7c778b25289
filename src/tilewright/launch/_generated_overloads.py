"""Kernels typed by their number of arguments. Written by tools/overloads.py; do not edit."""

# The longest match comes first, so that each overload is narrower than those below it.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from .definition import Entry, make_entry
from .given import KernelArg
from .operation import Launch

if TYPE_CHECKING:
    from ..op.core import DeviceOp

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


class Entry0(Entry, Generic[P]):
    """A kernel of 0 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[()]]: ...


class Entry1(Entry, Generic[P]):
    """A kernel of 1 positional parameter; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A]]: ...


class Entry2(Entry, Generic[P]):
    """A kernel of 2 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B]]: ...


class Entry3(Entry, Generic[P]):
    """A kernel of 3 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            c: C | DeviceOp[C],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B, C]]: ...


class Entry4(Entry, Generic[P]):
    """A kernel of 4 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            c: C | DeviceOp[C],
            d: D | DeviceOp[D],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B, C, D]]: ...


class Entry5(Entry, Generic[P]):
    """A kernel of 5 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            c: C | DeviceOp[C],
            d: D | DeviceOp[D],
            e: E | DeviceOp[E],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B, C, D, E]]: ...


class Entry6(Entry, Generic[P]):
    """A kernel of 6 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            c: C | DeviceOp[C],
            d: D | DeviceOp[D],
            e: E | DeviceOp[E],
            f: F | DeviceOp[F],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B, C, D, E, F]]: ...


class Entry7(Entry, Generic[P]):
    """A kernel of 7 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            c: C | DeviceOp[C],
            d: D | DeviceOp[D],
            e: E | DeviceOp[E],
            f: F | DeviceOp[F],
            g: G | DeviceOp[G],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B, C, D, E, F, G]]: ...


class Entry8(Entry, Generic[P]):
    """A kernel of 8 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            c: C | DeviceOp[C],
            d: D | DeviceOp[D],
            e: E | DeviceOp[E],
            f: F | DeviceOp[F],
            g: G | DeviceOp[G],
            h: H | DeviceOp[H],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B, C, D, E, F, G, H]]: ...


class Entry9(Entry, Generic[P]):
    """A kernel of 9 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            c: C | DeviceOp[C],
            d: D | DeviceOp[D],
            e: E | DeviceOp[E],
            f: F | DeviceOp[F],
            g: G | DeviceOp[G],
            h: H | DeviceOp[H],
            j: J | DeviceOp[J],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B, C, D, E, F, G, H, J]]: ...


class Entry10(Entry, Generic[P]):
    """A kernel of 10 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            c: C | DeviceOp[C],
            d: D | DeviceOp[D],
            e: E | DeviceOp[E],
            f: F | DeviceOp[F],
            g: G | DeviceOp[G],
            h: H | DeviceOp[H],
            j: J | DeviceOp[J],
            k: K | DeviceOp[K],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B, C, D, E, F, G, H, J, K]]: ...


class Entry11(Entry, Generic[P]):
    """A kernel of 11 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            c: C | DeviceOp[C],
            d: D | DeviceOp[D],
            e: E | DeviceOp[E],
            f: F | DeviceOp[F],
            g: G | DeviceOp[G],
            h: H | DeviceOp[H],
            j: J | DeviceOp[J],
            k: K | DeviceOp[K],
            m: M | DeviceOp[M],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B, C, D, E, F, G, H, J, K, M]]: ...


class Entry12(Entry, Generic[P]):
    """A kernel of 12 positional parameters; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
            a: A | DeviceOp[A],
            b: B | DeviceOp[B],
            c: C | DeviceOp[C],
            d: D | DeviceOp[D],
            e: E | DeviceOp[E],
            f: F | DeviceOp[F],
            g: G | DeviceOp[G],
            h: H | DeviceOp[H],
            j: J | DeviceOp[J],
            k: K | DeviceOp[K],
            m: M | DeviceOp[M],
            n: N | DeviceOp[N],
            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[A, B, C, D, E, F, G, H, J, K, M, N]]: ...


class Decorator(Protocol):
    """What `@tw.entry(...)` with options gives."""

    @overload
    def __call__(
        self,
        function: Callable[
            Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, P], None
        ],
        /,
    ) -> Entry12[P]: ...
    @overload
    def __call__(
        self,
        function: Callable[
            Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, P], None
        ],
        /,
    ) -> Entry11[P]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, P], None],
        /,
    ) -> Entry10[P]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, P], None],
        /,
    ) -> Entry9[P]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, P], None], /
    ) -> Entry8[P]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, P], None], /
    ) -> Entry7[P]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, P], None], /
    ) -> Entry6[P]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Any, Any, Any, Any, Any, P], None], /
    ) -> Entry5[P]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Any, Any, Any, Any, P], None], /
    ) -> Entry4[P]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Any, Any, Any, P], None], /) -> Entry3[P]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Any, Any, P], None], /) -> Entry2[P]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Any, P], None], /) -> Entry1[P]: ...
    @overload
    def __call__(self, function: Callable[P, None], /) -> Entry0[P]: ...


@overload
def entry(
    function: Callable[
        Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, P], None
    ],
    /,
) -> Entry12[P]: ...
@overload
def entry(
    function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, P], None],
    /,
) -> Entry11[P]: ...
@overload
def entry(
    function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, P], None], /
) -> Entry10[P]: ...
@overload
def entry(
    function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, Any, P], None], /
) -> Entry9[P]: ...
@overload
def entry(
    function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, Any, P], None], /
) -> Entry8[P]: ...
@overload
def entry(
    function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, Any, P], None], /
) -> Entry7[P]: ...
@overload
def entry(
    function: Callable[Concatenate[Any, Any, Any, Any, Any, Any, P], None], /
) -> Entry6[P]: ...
@overload
def entry(function: Callable[Concatenate[Any, Any, Any, Any, Any, P], None], /) -> Entry5[P]: ...
@overload
def entry(function: Callable[Concatenate[Any, Any, Any, Any, P], None], /) -> Entry4[P]: ...
@overload
def entry(function: Callable[Concatenate[Any, Any, Any, P], None], /) -> Entry3[P]: ...
@overload
def entry(function: Callable[Concatenate[Any, Any, P], None], /) -> Entry2[P]: ...
@overload
def entry(function: Callable[Concatenate[Any, P], None], /) -> Entry1[P]: ...
@overload
def entry(function: Callable[P, None], /) -> Entry0[P]: ...
@overload
def entry(*, unsafe: bool = False, source: str | None = None) -> Decorator: ...
def entry(
    function: Callable[..., None] | None = None,
    /,
    *,
    unsafe: bool = False,
    source: str | None = None,
) -> Any:
    """Turn a function into a kernel: `@tw.entry`, or `@tw.entry(unsafe=True)`.

    Calling the kernel builds the op that runs it; its result is the tuple of the very objects
    passed. `unsafe=True` allows raw pointers, and its launches are built inside `tw.unsafe()`.
    `source` is the text to compile where Python cannot show it.
    """
    return make_entry(function, unsafe=unsafe, source=source)

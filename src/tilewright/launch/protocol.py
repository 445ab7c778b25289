"""What the op of a launch requires of a kernel, and of its code, native or foreign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..base.shapes import Shape
from ..frontend.capture.parameters import Parameter

if TYPE_CHECKING:
    from .arguments import Bound
    from .binding import Placed
    from .code import Run
    from .form import Request
    from .links import Generics
    from .plain import PlainBinder


class Declared(Protocol):
    """What is known of a kernel before it is called."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What is given by position."""
        ...

    @property
    def constants(self) -> tuple[Parameter, ...]:
        """What is given by keyword."""
        ...


class Perishable(Protocol):
    """Compiled code, which may have been overtaken by changes."""

    def stale(self) -> object:
        """Return what has changed since; None: nothing."""
        ...


class Runnable(Protocol):
    """Code ready for launches alike."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        ...

    @property
    def grid(self) -> Shape:
        """The blocks of a launch, along each axis."""
        ...

    @property
    def run(self) -> Run:
        """How launches get on their way."""
        ...

    @property
    def compiled(self) -> Perishable:
        """What it was made of."""
        ...

    def has_passed(self, numbers: Sequence[Any]) -> bool:
        """Return whether `check` is known not to raise."""
        ...

    def check(self, numbers: Sequence[Any]) -> None:
        """Raise if it cannot be launched with these numbers."""
        ...


class Launchable(Protocol):
    """A kernel that launches can be built of."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def source(self) -> Declared:
        """Its parameters."""
        ...

    @property
    def written(self) -> tuple[int, ...]:
        """Which of its parameters are outputs."""
        ...

    @property
    def unsafe(self) -> bool:
        """Whether launches are built inside `tw.unsafe()`."""
        ...

    @property
    def plain(self) -> PlainBinder:
        """What binds calls, and borrows too."""
        ...

    @property
    def bare(self) -> Request | None:
        """What calls without keywords ask, if that is known."""
        ...

    def asked(self, keywords: Mapping[str, Any]) -> Request | None:
        """Return the request of an earlier call with these keywords, if there was one."""
        ...

    def check_generics(self, generics: Mapping[str, Any]) -> None:
        """Raise for a name that is no generic of it."""
        ...

    def placed(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Placed:
        """Return the arguments by position, also those passed by name, and the other keywords."""
        ...

    def request(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Request:
        """Check the number of arguments and the keywords of a call; give what it asks for."""
        ...

    def bind(self, values: Sequence[Any], keywords: Mapping[str, Any], generics: Generics) -> Bound:
        """Return the arguments of a call, checked one by one."""
        ...

    def give_form(self, bound: Bound, generics: Generics) -> None:
        """Find the form of a launch, and check its numbers against it."""
        ...

    def is_ready(self, bound: Bound, request: Request) -> bool:
        """Return whether the code for a launch is available."""
        ...

    def code(self, bound: Bound, request: Request) -> Runnable:
        """Return the code for a launch; compile it if necessary."""
        ...

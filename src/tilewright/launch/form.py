"""What launches alike have in common: everything but their memory and their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..base.errors import LaunchError
from ..base.shapes import Shape
from ..compile.options import CompileOptions
from ..devices.protocol import Device
from ..frontend.capture.parameters import Parameter
from .arguments import Arg, OutputArg, ScalarArg, TensorArg
from .blocks import Asked
from .code import AnyPlan, Code
from .links import Generics, Links, scalar_type
from .protocol import Runnable
from .recent import Recent
from .scalars import UNSURE, Accept, accepting, range_of
from .specialize import Constants


class Request(NamedTuple):
    """What a launch asks besides its arguments."""

    constants: Constants = ()
    kinds: tuple[object, ...] = ()
    """The kinds of the constants: True, 1 and 1.0 are equal, but not the same constant."""
    generics: Generics = ()
    grid: Shape | None = None
    const_grid: Shape | None = None
    options: CompileOptions | None = None
    threads: Asked | None = None
    """What `launch_config` of a SIMT launch said."""


PLAIN = Request()
"""What most launches ask: nothing."""


CodeKey: TypeAlias = "Device | tuple[Device, Request] | tuple[Device, Request, tuple[bool, ...]]"
"""A device alone where nothing else is asked for; on CUDA, which memory is well aligned, unless
all of it is."""

CODES = 64
"""Compiled codes that launches alike remember: one per device, constants and options."""


class Form:
    """Launches alike: their arguments have the same layouts and homes, so also the same types,
    links and grid."""

    def __init__(self, kernel: str, args: tuple[Arg, ...], links: Links) -> None:
        self.kernel, self.args, self.links = kernel, args, links
        self.memory: tuple[OutputArg | TensorArg, ...] = (
            *[a for a in args if isinstance(a, OutputArg)],
            *[a for a in args if isinstance(a, TensorArg)],
        )
        """The arguments with memory: what is written, then what is read."""
        self.home = _home(kernel, args)
        """The device they live on; None: launches go to the default one."""
        self.codes: Recent[CodeKey, Code] = Recent(CODES)
        self._accept = [
            self.accepting(kernel, a.parameter) for a in args if isinstance(a, ScalarArg)
        ]

    def ranges(self) -> bytes:
        """Return the ranges of numbers that its parameters accept, as the core reads them."""
        return b"".join([self._range(a.parameter) for a in self.args if isinstance(a, ScalarArg)])

    def _range(self, parameter: Parameter) -> bytes:
        dtype = parameter.dtype
        if isinstance(dtype, str):
            return range_of(self.links.dtypes[dtype][0]) if dtype in self.links.dtypes else UNSURE
        return UNSURE if dtype is None else range_of(dtype)

    def accepting(self, kernel: str, parameter: Parameter) -> Accept:
        """Return the check of the numbers given for a parameter."""
        dtype = parameter.dtype
        if isinstance(dtype, str) and dtype not in self.links.dtypes:
            return _unchecked  # may still be bound by hand; a launch without is refused
        return accepting(kernel, parameter.name, scalar_type(kernel, parameter, self.links))

    def accept(self, numbers: Sequence[Any]) -> list[Any]:
        """Return the numbers of a launch as Python ones, if the types of their parameters hold
        them.
        """
        return [accept(n) for accept, n in zip(self._accept, numbers, strict=True)]


Found: TypeAlias = "tuple[Runnable | None, AnyPlan | None]"
NOT_FOUND: Found = (None, None)


class Known:
    """Plain launches whose tensors are of the same kinds: also their memory is aligned alike."""

    __slots__ = ("_asked", "form", "home", "kinds", "latest", "ranges")

    def __init__(self, kinds: bytes, form: Form) -> None:
        self.kinds, self.form, self.home, self.ranges = kinds, form, form.home, form.ranges()
        self.latest: tuple[Request, *Found] = (PLAIN, *NOT_FOUND)
        """What was last asked for, its code, and how it gets on its way; one tuple, as threads may
        ask for different things."""
        self._asked: Recent[Request, Found] = Recent(CODES)

    def remember(self, request: Request, code: Runnable, plan: AnyPlan | None) -> None:
        """Store the code and the plan of a request."""
        self._asked.keep(request, (code, plan))
        self.latest = (request, code, plan)

    def asked(self, request: Request) -> Found:
        """Return the code and the plan for a request, if they are known."""
        latest, code, plan = self.latest
        if latest is not request:
            code, plan = self._asked.get(request, NOT_FOUND)
            self.latest = (request, code, plan)
        return code, plan


def _home(kernel: str, args: Sequence[Arg]) -> Device | None:
    """Return the device of a launch: that of its tensors. Host arrays follow them."""
    homes = {a.parameter.name: a.home for a in args if not isinstance(a, ScalarArg) and a.home}
    found = set(homes.values())
    if len(found) > 1:
        raise LaunchError(
            f"the tensors of `{kernel}` live on different devices",
            got=", ".join(f"`{name}` on {home.name}" for name, home in homes.items()),
            hint=_one_device(homes),
        )
    return found.pop() if found else None


def _one_device(homes: Mapping[str, Device]) -> str:
    """Return how to bring tensors together: to the device of the first, which is written."""
    target = next(iter(homes.values()))
    copies = [f"{name}.to({target.name!r})" for name, home in homes.items() if home is not target]
    return f"copy to one device first: {', '.join(copies)}"


def _unchecked(value: Any) -> Any:
    return value

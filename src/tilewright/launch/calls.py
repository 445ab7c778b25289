"""What calls of a kernel give and ask for: our kernels and those of other compilers alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._core import Kernel as NativeKernel
from ..ir.signature import constant_kind
from ..op.ambient import UNSAFE
from .binding import Binder, Placed
from .form import PLAIN, Request
from .plain import PlainBinder
from .protocol import Declared
from .recent import Recent
from .specialize import refuse_unhashable

REQUESTS = 256
"""Constants of calls that a kernel remembers."""


class CalledKernel(NativeKernel):
    """A kernel as calls know it; the core sorts and binds what most of them give."""

    unsafe: bool
    """Whether launches are built inside `tw.unsafe()`."""
    plain: PlainBinder
    """What binds calls, and borrows too."""
    bare: Request | None
    """What calls without keywords ask, if that is known."""

    def __init__(
        self,
        declared: Declared,
        binder: Binder,
        optional: tuple[int, ...] | None = None,
        *,
        unsafe: bool = False,
    ) -> None:
        """Serve the calls of a kernel; `optional`: the parameters that may be None, if any."""
        self.name = declared.name
        self.unsafe, self.guard = unsafe, UNSAFE if unsafe else None
        self._binder = binder
        self.written = tuple(binder.outputs)
        """Which of its parameters are outputs."""
        self._arity = len(declared.parameters)
        self._latest = None
        self._asked: Recent[tuple[Any, ...], Request] = Recent(REQUESTS)
        self.bare = None if declared.constants else PLAIN
        self._set_calls(*binder.calls(), optional)

    def placed(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Placed:
        """Return the arguments by position, also those passed by name, and the other keywords."""
        return self._binder.placed(args, keywords)

    def request(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Request:
        """Check the number of arguments and the keywords of a call; give what it asks for."""
        given = self._binder.without_numbers(keywords)
        known = self.asked(given) if given else self.bare
        if known is not None and len(args) == self._arity and keywords is given:
            return known
        self._binder.check_call(args, keywords)
        constants = self._binder.constants(keywords)
        refuse_unhashable(self.name, constants)
        request = Request(constants, tuple([constant_kind(value) for _, value in constants]))
        if given:
            self._asked.keep(_as_key(given), request)
        else:
            self.bare = request
        return request

    def asked(self, keywords: Mapping[str, Any]) -> Request | None:
        """Return the request of an earlier call with these keywords, if there was one."""
        try:
            return self._asked.get(_as_key(keywords))
        except TypeError:  # a constant that may change, which `request` refuses
            return None


def _as_key(keywords: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return keywords and values as a key, where equal values may have different types."""
    return *keywords.items(), *map(constant_kind, keywords.values())

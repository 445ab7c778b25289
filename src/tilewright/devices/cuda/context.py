"""A device's primary context: makes calls in it, and knows when it has been lost for good."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import ParamSpec, TypeVar
from weakref import WeakMethod

from ...base.errors import ContextError, DriverError
from ...base.system import at_fork
from .calls import Calls
from .results import RESTART, STICKY, CallError

P = ParamSpec("P")
R = TypeVar("R")
SPAWN = 'start processes with multiprocessing.get_context("spawn")'


def weak_call(method: Callable[[], None]) -> Callable[[], None]:
    """Return a function that calls a method while its object lives, and holds no reference."""
    known = WeakMethod(method)

    def call() -> None:
        if (found := known()) is not None:
            found()

    return call


class Context:
    """The primary context of one device, shared with all libraries of this process."""

    __slots__ = (
        "__weakref__", "_is_parents", "_left", "_suspects", "calls", "handle", "is_fine",
        "loading", "lost", "name", "ordinal",
    )  # fmt: skip

    def __init__(self, calls: Calls, ordinal: int, name: str, handle: int = 0) -> None:
        self.calls = calls
        self.ordinal = ordinal
        self.name = name
        """What programs call the device."""
        self.handle = handle or calls.retain_context(ordinal)
        """The primary context, unless another one is given."""
        self.lost: DriverError | None = None
        """Why the device can do nothing more, once that is so."""
        self.loading = threading.RLock()
        """To be held by who loads code: the driver died of threads that loaded tile kernels at
        once."""
        self.is_fine = True
        """Whether there is nothing that `check` would raise for."""
        self._is_parents = False
        at_fork(after_in_child=weak_call(self.leave_to_parent))
        self._suspects: Callable[[], list[str]] = list
        self._left: deque[tuple[Callable[[int, int], None], int, int]] = deque()

    def leave_to_parent(self) -> None:
        """Close the context in a child process, which cannot use it."""
        self._is_parents, self.is_fine = True, False

    def watch(self, suspects: Callable[[], list[str]]) -> None:
        """Register a source of suspects, for the error if the context is lost."""
        self._suspects = suspects

    def leave(self, function: Callable[[int, int], None], one: int, other: int) -> None:
        """Leave a call to the next caller that makes slow calls; for finalizers."""
        self._left.append((function, one, other))

    def tidy(self) -> None:
        """Run the calls that finalizers have left."""
        while self._left:
            try:
                function, one, other = self._left.popleft()
            except IndexError:  # another thread was faster
                return
            with self.loading:
                self.call(function, one, other)

    def check(self) -> None:
        """Raise if nothing can be done on this device any more."""
        if self.lost is not None:
            raise self._again()
        if self._is_parents:
            raise ContextError(
                f"{self.name} of the parent process cannot be used in a forked child",
                hint=SPAWN,
                device_id=self.ordinal,
            )

    def _again(self) -> DriverError:
        """Return a new error with the same cause, since each handler adds notes."""
        cause = self.lost
        assert cause is not None
        return DriverError(cause.message, got=cause.got, hint=cause.hint)

    def call(self, function: Callable[P, R], *args: P.args, **keywords: P.kwargs) -> R:
        """Run a call with this context current, and restore the thread's context."""
        if not self.is_fine:
            self.check()
        calls = self.calls
        entered = calls.current_context() != self.handle
        try:
            if entered:
                calls.push_context(self.handle)
            result = function(*args, **keywords)
            if entered:
                calls.pop_context()
            return result
        except BaseException as error:
            if entered and calls.current_context() == self.handle:  # an interrupt comes anywhere
                calls.pop_context()
            if isinstance(error, CallError):
                raise self.judged(error) from None
            raise

    def failure(self, call: str, status: int) -> Exception:
        """Return the error for the status of a call."""
        error = self.calls.describe(call, status)
        return self.judged(error) if isinstance(error, CallError) else error

    def judged(self, error: CallError) -> DriverError:
        """Return an error; one that ends all work on the device gets its known cause."""
        if error.status not in STICKY:
            return error
        if self.lost is None:
            self.lost = self._cause(error)
            self.is_fine = False
        return self._again()

    def _cause(self, error: CallError) -> DriverError:
        suspects = self._suspects()
        who = " or ".join(suspects) if suspects else "work that was never synchronized"
        return DriverError(
            f"{who} has failed on {self.name}, and with it all work there",
            got=error.got,
            hint=RESTART,
        )

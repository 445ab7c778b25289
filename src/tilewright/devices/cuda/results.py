"""What the driver's results mean: which end a context, what they are called, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ...base.errors import DriverError

SUCCESS = 0
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NO_DEVICE = 100
NO_BINARY_FOR_GPU = 209
INVALID_PTX = 218
NOT_FOUND = 500
UNLOADABLE = frozenset({200, 300, 301, 302, 303})
"""What is said of code that is damaged, or lacks something it needs."""
NOT_READY = 600

STICKY = frozenset({214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999})
"""After one of these the device can do nothing more in this process."""

RESTART = "restart the process: CUDA refuses all further work in one whose kernel has failed so"

HINTS: Mapping[int, str] = MappingProxyType({
    200: "the code is damaged, or none for a GPU",
    218: "the PTX is not valid, or newer than the driver knows",
    221: "the driver's PTX compiler is missing: install all of the driver's libraries",
    222: "the PTX is newer than the driver knows: update the driver",
    701: "use smaller blocks: they need more registers or threads than a processor has",
    801: "this device or driver does not offer that",
})  # fmt: skip
"""What to do, where that is known."""


class CallError(DriverError):
    """A call that the driver refused; `status` is its number for the reason."""

    status: int = 0


def refusal(call: str, status: int, name: str, text: str) -> CallError:
    """Return the error for a call that was refused."""
    error = CallError(
        f"the CUDA driver rejected {call}",
        got=f"{name} ({status}): {text}",
        hint=HINTS.get(status),
    )
    error.status = status
    return error


def with_words(error: CallError, words: str) -> CallError:
    """Return the error of a refused call, with the driver's log if there is one."""
    if not words:
        return error
    known = CallError(error.message, got=f"{error.got}\n{words}", hint=error.hint)
    known.status = error.status
    return known

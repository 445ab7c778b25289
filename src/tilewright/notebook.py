"""What notebooks show of results. Importing the package in one has it do so.

The result of a launch is all that it was given. A cell that ends in `add(z, x, y).sync()` would
show every array of it whole, so arrays among tensors and partitions are shown by their properties.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .base.messages import summary
from .tensors import Arc, BorrowMut, Partition, Tensor

OURS = (Tensor, Partition, BorrowMut, Arc)
FEW = 16
"""Elements of an array that is shown whole."""


def text_of(value: Any) -> str | None:
    """Return what stands for an argument of a launch; None: its repr does."""
    kinds: Any = OURS
    if isinstance(value, kinds):
        return summary(value)
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    size: Any = getattr(value, "size", None)
    count = size() if callable(size) else size
    many = isinstance(count, int) and count > FEW
    many = many or (hasattr(value, "numel") and value.numel() > FEW)
    if shape is None or dtype is None or not many:
        return None
    return f"{type(value).__name__}(shape={tuple(shape)}, dtype={dtype})"


def _show_tuple(usual: Callable[..., None]) -> Callable[[tuple[Any, ...], Any, bool], None]:
    def show(values: tuple[Any, ...], printer: Any, cycle: bool) -> None:
        if type(values) is not tuple or not any(isinstance(value, OURS) for value in values):
            usual(values, printer, cycle)
            return
        with printer.group(1, "(", ",)" if len(values) == 1 else ")"):
            for i, value in enumerate(values):
                if i:
                    printer.text(",")
                    printer.breakable()
                text = text_of(value)
                if text is None:
                    printer.pretty(value)
                else:
                    printer.text(text)

    return show


def load(shell: Any) -> None:
    """Have an IPython shell show results of launches by their properties; done once."""
    texts = shell.display_formatter.formatters["text/plain"]
    usual = texts.lookup_by_type(tuple)
    if getattr(usual, "__module__", "") != __name__:
        texts.for_type(tuple, _show_tuple(usual))


def load_if_there() -> None:
    """Do as `load`, if this program runs in IPython."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    if shell is not None:
        load(shell)

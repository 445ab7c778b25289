"""The object behind `@tw.entry`: binding, grid, launch checks, and the launch op."""

from ._generated_overloads import entry
from .definition import Entry
from .given import KernelArg
from .operation import Launch

__all__ = ["Entry", "KernelArg", "Launch", "entry"]

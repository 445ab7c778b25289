"""The object behind `@tw.entry`: binding, grid, launch checks, and the launch op."""

from ._generated_overloads import entry
from .definition import Entry
from .given import KernelArg
from .operation import Launch
from .raw import (
    AsyncKernelLaunch,
    load_module_from_bytes,
    load_module_from_file,
    load_module_from_ptx,
)

__all__ = [
    "AsyncKernelLaunch",
    "Entry",
    "KernelArg",
    "Launch",
    "entry",
    "load_module_from_bytes",
    "load_module_from_file",
    "load_module_from_ptx",
]

"""The command `tilewright`: a table of subcommands, one file each.

command    the table, and what becomes of errors
loading    a kernel file as a module, and the kernels in it
wording    a kernel's arguments written as text
"""

from .command import main

__all__ = ["main"]

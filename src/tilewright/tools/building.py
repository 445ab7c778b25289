"""`tilewright build`: the SIMT kernels of a file as PTX, without a GPU."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from ..launch.simt import DEFAULT_ARCH, SimtEntry
from .choosing import target_of
from .loading import chosen
from .subcommand import FINE, Subcommand, UsageError, in_bytes, say

SUFFIXES = {"ptx": ".ptx"}
"""What can be built, and how its files end."""


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a Python file that defines SIMT kernels")
    parser.add_argument("--emit", choices=SUFFIXES, default="ptx", help="what to build")
    parser.add_argument("--arch", help="what to build for, such as sm_90")
    parser.add_argument("--kernel", metavar="NAME", help="one kernel; else all SIMT kernels")
    parser.add_argument("-o", "--output", type=Path, metavar="PATH", default=Path(),
                        help="a folder, or the file of one kernel")  # fmt: skip


def _run(given: Namespace) -> int:
    kernels = {
        name: kernel
        for name, kernel in chosen(given.file, given.kernel).items()
        if isinstance(kernel, SimtEntry)
    }
    if not kernels:
        raise UsageError(f"{given.file} has no SIMT kernels; tile kernels: tilewright compile")
    arch = target_of(given.arch, DEFAULT_ARCH)
    suffix = SUFFIXES[given.emit]
    for name, kernel in kernels.items():
        try:
            text = kernel.ptx(arch)
        except TypeError as error:
            raise UsageError(str(error)) from None
        path = _path(given.output, name, suffix, alone=len(kernels) == 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        say(f"{path}: {name} for {arch}, {in_bytes(len(text))}")
    return FINE


def _path(output: Path, name: str, suffix: str, *, alone: bool) -> Path:
    return output if alone and output.suffix == suffix else output / f"{name}{suffix}"


MORE = """\
the architecture is that of --arch, else of TILEWRIGHT_TARGET, else of the local GPU, else sm_80;
a slice becomes an address and a 64-bit length, a number stands for itself"""

SUBCOMMAND = Subcommand("build", "build SIMT kernels as PTX", _add_arguments, _run, MORE)

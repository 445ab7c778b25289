"""`tilewright explain`: what the compiler decided for a kernel, and where its checks went."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from . import choosing
from .choosing import calls
from .subcommand import FINE, Subcommand, say

HERE = "cpu"
"""What is explained unless something else is asked for."""


def _add_arguments(parser: ArgumentParser) -> None:
    choosing.add_arguments(parser)
    parser.add_argument("--arch", help="a CUDA architecture; else code for this machine's CPU")
    parser.add_argument("--stage", metavar="NAME", help="show the kernel at this stage instead:"
                        " frontend, passes, tile_ir and so on; `list` names them")  # fmt: skip


def _run(given: Namespace) -> int:
    for number, call in enumerate(calls(given)):
        inspection = call.look(given.arch or HERE)
        if number:
            say()
        if given.stage is None:
            say(inspection.decisions())
            continue
        stages = inspection.stages()
        if given.stage in stages:
            say(stages[given.stage])
        else:
            say(f"{call.name}: {', '.join(stages)}")
    return FINE


SUBCOMMAND = Subcommand(
    "explain",
    "say what the compiler decided for kernels, and where their checks went",
    _add_arguments,
    _run,
    choosing.WAYS,
)

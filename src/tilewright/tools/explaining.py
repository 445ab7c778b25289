"""`tilewright explain`: what the compiler decided for a kernel, and where its checks went."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from ..backend.tileir.listing import WHEEL
from . import choosing
from .choosing import calls
from .subcommand import FINE, Subcommand, UsageError, say

HERE = "cpu"
"""What is explained unless something else is asked for."""

STAGES = "show the kernel at this stage: frontend, llvm, tile_ir, ptx, sass ...; `list` names them"


def _add_arguments(parser: ArgumentParser) -> None:
    choosing.add_arguments(parser)
    parser.add_argument("--arch", help="a CUDA architecture; else code for this machine's CPU")
    parser.add_argument("--stage", metavar="NAME", help=STAGES)


def _run(given: Namespace) -> int:
    for number, call in enumerate(calls(given, explaining=True)):
        inspection = call.look(given.arch or HERE)
        if number:
            say()
        if given.stage is None:
            say(inspection.decisions())
            continue
        stages = inspection.stages()
        say(f"{call.name}: {', '.join(stages)}" if given.stage == "list" else _text(given, stages))
    return FINE


def _text(given: Namespace, stages: Mapping[str, str]) -> str:
    if given.stage in stages:
        return stages[given.stage]
    fix = f"; pip install {WHEEL}" if given.stage == "sass" and given.arch else ""
    raise UsageError(f"there is no stage {given.stage!r}, only {', '.join(stages)}{fix}")


SUBCOMMAND = Subcommand(
    "explain",
    "say what the compiler decided for kernels, and where their checks went",
    _add_arguments,
    _run,
    choosing.WAYS,
)

"""`tilewright explain`: what the compiler decided for a kernel, and where its checks went."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ..backend.tileir.toolchain import NVDISASM_WHEEL
from ..base.errors import Error
from ..launch.inspection import Inspection
from . import choosing
from .choosing import HERE, Chosen, calls
from .subcommand import FINE, Subcommand, UsageError, say

STAGES = "show the kernel at this stage: frontend, llvm, tile_ir, ptx, sass ...; `list` names them"


def _add_arguments(parser: ArgumentParser) -> None:
    choosing.add_arguments(parser)
    parser.add_argument("--arch", help="a CUDA architecture; else code for this machine's CPU")
    parser.add_argument("--stage", metavar="NAME", help=STAGES)


def _run(given: Namespace) -> int:
    told: dict[str, None] = {}
    for call in calls(given, explaining=True):
        try:
            told[_told(call, given)] = None  # launches of other shapes may read alike
        except Error as error:
            call.leave_out(error)
    if not told:
        raise UsageError(f"no launch of {given.file} went well")
    say("\n\n".join(told))
    return FINE


def _told(call: Chosen, given: Namespace) -> str:
    inspection = call.look(given.arch or HERE)
    return inspection.decisions() if given.stage is None else _stage(call, given, inspection)


def _stage(call: Chosen, given: Namespace, inspection: Inspection) -> str:
    stages = inspection.stages()
    if given.stage == "list":
        return f"{call.name}: {', '.join(stages)}"
    if given.stage in stages:
        return stages[given.stage]
    fix = f"; pip install {NVDISASM_WHEEL}" if given.stage == "sass" and given.arch else ""
    raise UsageError(f"there is no stage {given.stage!r}, only {', '.join(stages)}{fix}")


SUBCOMMAND = Subcommand(
    "explain",
    "show the decisions of the compiler for kernels, and where their checks went",
    _add_arguments,
    _run,
    choosing.WAYS,
)

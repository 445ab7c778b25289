"""Runs a compiled kernel where its tensors live: one way per device, from arguments to a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..backend import reference
from ..base.shapes import Shape
from ..ir.artifact import Artifact
from ..ir.core import Func
from .arguments import Arg, OutputArg, PointerArg, ScalarArg
from .native import Native
from .report import Report

Runner: TypeAlias = Callable[[Artifact, Sequence[Arg], Shape], Report]


def runners() -> Mapping[str, Runner]:
    """The ways to run one kernel, by the name of the device; they keep the code they load."""
    return {"cpu": Native().run, "reference": run_reference}


def run_reference(artifact: Artifact, args: Sequence[Arg], grid: Shape) -> Report:
    """Interpret the kernel on the arguments' own memory."""
    assert isinstance(artifact.code, Func)
    unwritten = frozenset(
        a.parameter.name
        for a in args
        if isinstance(a, OutputArg) and not a.region.storage.initialized
    )
    outcome = reference.run(
        artifact.code, [_value(arg) for arg in args], grid, uninitialized=unwritten
    )
    return Report(outcome.failure, outcome.printed, outcome.problems, outcome.seed)


def _value(arg: Arg) -> Any:
    if isinstance(arg, ScalarArg):
        return arg.value
    region = arg.pointer.region if isinstance(arg, PointerArg) else arg.region
    return region.array()

"""The disk-cache encoding of native code: its dependencies, the saved bytes, the restoration."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

import llvmlite
import ml_dtypes
import numpy as np

from ...base.files import source_hash
from ...base.llvm import llvm
from ...base.stage import ArtifactCodec, Fact, Facts, Saved
from ...ir.artifact import Artifact, sites_of
from ...ir.core import Func
from ...ir.printer import NotExactError, exact_text
from ..llvm.target import CpuTarget

SOURCES = (
    "base",
    "ir",
    "analysis",
    *(f"backend/{name}" for name in ("llvm", "libm", "cpu", "simt_cpu")),
)
"""All that this backend can run: what it may import, and itself."""


def codec_for(cpu: CpuTarget) -> ArtifactCodec:
    """Return how code for one CPU is kept."""
    return ArtifactCodec(
        facts=lambda func: facts(func, cpu),
        save=save,
        restore=lambda func, saved: restore(func, cpu, saved),
    )


def artifact(
    func: Func,
    cpu: CpuTarget,
    code: bytes,
    scratch_bytes: int,
    together: int,
    decisions: Sequence[str],
) -> Artifact:
    """Return the artifact of a function; all but the last four comes from the function itself."""
    return Artifact(
        name=func.name,
        target=f"cpu {cpu.name}",
        signature=func.signature,
        code=code,
        launch_checks=func.launch_checks,
        sites=sites_of(func),
        scratch_bytes=scratch_bytes,
        together=together,
        decisions=tuple(decisions),
    )


# What the code depends on.


def facts(func: Func, cpu: CpuTarget) -> Facts | None:
    """Return everything that can change the object file; None where that cannot be said."""
    fixed = _fixed(cpu)
    if fixed["sources"] is None:
        return None
    try:
        return {**fixed, "kernel": func.name, "ir": exact_text(func)}
    except NotExactError:
        return None


@cache
def _fixed(cpu: CpuTarget) -> dict[str, Fact]:
    """Return what is the same for all kernels."""
    return {
        "made": "cpu object",
        "sources": source_hash(*SOURCES),
        "cpu": cpu.name,
        "features": cpu.features,
        "triple": cpu.triple,
        "scratch_limit": cpu.scratch_limit,
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": str(llvmlite.__version__),
        "python": ".".join(map(str, sys.version_info)),
        "numpy": np.__version__,
        "ml_dtypes": str(ml_dtypes.__version__),
    }


# What is saved of it.


def save(func: Func, made: Artifact) -> Saved:
    """Return the object file, and what is known of it from the plan."""
    assert isinstance(made.code, bytes)
    places = _places(func)
    metadata: dict[str, object] = {
        "symbol": made.name,
        "scratch_bytes": made.scratch_bytes,
        "together": made.together,
        "decisions": [_without_places(line, places) for line in made.decisions],
    }
    return Saved(metadata, made.code)


def _places(func: Func) -> dict[str, int]:
    """Return the source location of every op, and the first op at that location."""
    found: dict[str, int] = {}
    for number, op in enumerate(func.walk()):
        if op.span is not None:
            found.setdefault(op.span.place, number)
    return found


def _without_places(line: str, places: Mapping[str, int]) -> list[str | int]:
    """Return a line with op numbers for locations: the same code may move in its file."""
    if not places:
        return [line]
    longest_first = sorted(places, key=len, reverse=True)
    parts = re.split(rf"({'|'.join(map(re.escape, longest_first))})(?!\d)", line)
    return [places[part] if i % 2 else part for i, part in enumerate(parts)]


# How it comes back.


def restore(func: Func, cpu: CpuTarget, saved: Saved) -> Artifact:
    """Return the artifact of a function from the saved one of an equal function, or raise."""
    scratch = saved.metadata.get("scratch_bytes")
    if saved.metadata.get("symbol") != func.name:
        raise ValueError("not the code of this kernel")
    if type(scratch) is not int or not 0 <= scratch <= cpu.scratch_limit:
        raise ValueError(f"not a size: {scratch!r}")
    together = saved.metadata.get("together")
    if type(together) is not int or together < 1:
        raise ValueError(f"not a number of blocks: {together!r}")
    decisions = _decisions(func, saved.metadata.get("decisions"))
    return artifact(func, cpu, saved.code, scratch, together, decisions)


def _decisions(func: Func, lines: object) -> list[str]:
    ops = list(func.walk())
    places = [op.span.place if op.span is not None else "no place" for op in ops]
    return ["".join(_part(part, places) for part in _list(line)) for line in _list(lines)]


def _part(part: object, places: Sequence[str]) -> str:
    if type(part) is int and 0 <= part < len(places):
        return places[part]
    if isinstance(part, str):
        return part
    raise ValueError(f"not a part of a line: {part!r}")


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"not a list: {value!r}")
    return cast("list[object]", value)


def summary(made: Artifact) -> str:
    """Return the text of the last stage: the target and what was decided."""
    return "\n".join([f"{made.name} for {made.target}", *made.decisions]) + "\n"

"""How cubins are kept on disk: what they depend on, what is saved, how they come back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache

import ml_dtypes
import numpy as np

from ...base.config import current
from ...base.fingerprint import source_hash
from ...base.stage import Fact, Facts, Keeping, Saved
from ...ir.artifact import Artifact, sites_of
from ...ir.core import Func
from ...ir.exact import NotExactError, exact_text
from .abi import symbol
from .assembler import CUBIN_MAGIC
from .choose import choose
from .encoding.versions import version_text
from .target import TileTarget
from .toolchain import Toolchain

SOURCES = ("base", "ir", "analysis", "backend/tileir")
"""All that this backend can run: what it may import, and itself."""


def keeping_for(target: TileTarget, tool: Toolchain) -> Keeping:
    """How code for one target is kept."""
    return Keeping(
        facts=lambda func: facts(func, target, tool),
        save=save,
        restore=lambda func, saved: restore(func, target, saved),
    )


def artifact(func: Func, target: TileTarget, code: bytes, decisions: Sequence[str]) -> Artifact:
    """The artifact of a function."""
    return Artifact(
        name=symbol(func.name),
        target=target.arch,
        signature=func.signature,
        code=code,
        launch_checks=func.launch_checks,
        sites=sites_of(func),
        decisions=tuple(decisions),
    )


def facts(func: Func, target: TileTarget, tool: Toolchain) -> Facts | None:
    """Everything that can change the cubin; None where that cannot be said."""
    fixed = _fixed(target, tool)
    if fixed["sources"] is None:
        return None
    try:
        text = exact_text(func)
    except NotExactError:
        return None
    return {**fixed, "kernel": func.name, "ir": text, "lines": _lines(func)}


def _lines(func: Func) -> list[str]:
    """The lines that a cubin names, if it names any."""
    if not current().line_info:
        return []
    return [op.span.place if op.span is not None else "" for op in func.walk()]


@cache
def _fixed(target: TileTarget, tool: Toolchain) -> dict[str, Fact]:
    return {
        "made": "cubin",
        "sources": source_hash(*SOURCES),
        "arch": target.arch,
        "bytecode": version_text(target.version),
        "wishes": [f"{name}={value}" for name, value in asdict(target.wishes).items()],
        "tileiras": tool.fingerprint,
        "python": ".".join(map(str, sys.version_info)),
        "numpy": np.__version__,
        "ml_dtypes": str(ml_dtypes.__version__),
    }


def save(func: Func, made: Artifact) -> Saved:
    """The cubin; its decisions are made again, for they name places."""
    assert isinstance(made.code, bytes)
    return Saved({"symbol": made.name}, made.code)


def restore(func: Func, target: TileTarget, saved: Saved) -> Artifact:
    """The artifact of a function, from what was saved of an equal one; ValueError if it is not."""
    if saved.metadata.get("symbol") != symbol(func.name):
        raise ValueError("not the code of this kernel")
    if not saved.code.startswith(CUBIN_MAGIC):
        raise ValueError("not a cubin")
    return artifact(func, target, saved.code, choose(func, target).lines)

"""All that the page shows, as data: the kernels of a program for each target."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ...base.shapes import shape_text
from ...base.source import SourceFile
from ...ir.signature import OutputSpec, ParamSpec, ScalarSpec, Signature, TensorSpec
from ...launch.inspection import Inspection
from ..machine import own_version
from . import compiled, grid
from .recording import Launched
from .sources import Sources


def described(path: Path, launched: Sequence[Launched], targets: Sequence[str]) -> dict[str, Any]:
    """Return the data of the page."""
    root = path.resolve().parent
    return {
        "title": path.name,
        "version": own_version(),
        "made": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        "kernels": [_kernel(each, targets, root) for each in launched],
    }


def _kernel(launched: Launched, targets: Sequence[str], root: Path) -> dict[str, Any]:
    kernel = launched.needed.kernel
    sources = Sources(root)
    first = Inspection.of_launch(launched.needed, "reference")
    file: SourceFile = kernel.source.source.file
    sources.add(file)
    sources.reference(file.name, kernel.source.source.node.lineno)
    sources.learn(op.span for op in first.frontend().walk())
    simt = kernel.source.dialect == "simt"
    looks = [Inspection.of_launch(launched.needed, target) for target in targets]
    shown = [compiled.described(look, sources, simt=simt) for look in looks]
    view = grid.described(launched, sources)
    return {
        "name": kernel.name,
        "dialect": kernel.source.dialect,
        "parameters": [_parameter(spec) for spec in first.signature.params],
        "constants": [[name, str(value)] for name, value in first.signature.constants],
        "block": _threads(first.signature),
        "targets": shown,
        "grid": view,
        **sources.data(),
    }


def _threads(signature: Signature) -> list[int] | None:
    return None if signature.block is None else list(signature.block_dims)


def _parameter(spec: ParamSpec) -> dict[str, str]:
    return {"name": spec.name, "type": _type(spec)}


def _type(spec: ParamSpec) -> str:
    if isinstance(spec, ScalarSpec):
        return spec.dtype.name
    if not isinstance(spec, TensorSpec | OutputSpec):
        return f"pointer to {spec.dtype.name}"
    extents = ", ".join("?" if n is None else str(n) for n in spec.shape)
    text = f"{spec.dtype.name}[{extents}]"
    if isinstance(spec, OutputSpec) and spec.tile and not spec.shared:
        text += f" in tiles of {shape_text(spec.tile)}"
    return text

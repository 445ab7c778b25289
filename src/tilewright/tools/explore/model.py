"""All that the page shows, as data: the kernels of a program, compiled for each target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ...backend.tileir.lowered import is_cubin
from ...backend.tileir.ptxas import NAME as PTXAS
from ...backend.tileir.ptxas import WHEEL as PTXAS_WHEEL
from ...backend.tileir.ptxas import assembled
from ...backend.tileir.resource_model import (
    Processor,
    Resources,
    processor_of,
    resident_blocks,
    resources,
)
from ...backend.tileir.target import TileTarget, is_architecture
from ...backend.tileir.toolchain import NVDISASM_WHEEL
from ...base.errors import Error
from ...base.shapes import shape_text
from ...base.source import SourceFile
from ...compile.inspect import Compilation
from ...compile.runner import Shown
from ...ir.artifact import Artifact
from ...ir.core import BoundsCheck
from ...ir.launch_expr import show
from ...ir.signature import OutputSpec, ParamSpec, ScalarSpec, Signature, TensorSpec
from ...launch.inspection import Inspection
from ..machine import own_version
from ..subcommand import in_bytes
from . import grid
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
    shown = [_compiled(look, sources, simt=simt) for look in looks]
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


# -------------------------------------------------------------------------------------------------
# One kernel for one target: stages, decisions, checks, resources.

IR, CODE = "ir", "code"
TITLES: Mapping[str, tuple[str, str]] = {
    "frontend": (IR, "typed IR, as the front end gives it"),
    "passes": (IR, "typed IR, as backends get it"),
    "plan": (CODE, "loop nests: what is computed in which loop, and where tiles live"),
    "llvm": (CODE, "LLVM, before its own optimization"),
    "object": (CODE, "the object file, summarized"),
    "assembly": (CODE, "machine code of this CPU"),
    "tile_ir": (CODE, "Tile IR, as it is lowered"),
    "tileirdisasm": (CODE, "Tile IR, by NVIDIA's disassembler"),
    "cubin": (CODE, "the cubin, summarized"),
    "ptx": (CODE, "PTX"),
    "sass": (CODE, "machine code of the GPU"),
    "interpret": (CODE, "the interpreter runs the IR as it is"),
}
"""Of each stage what it is; all others are passes over the typed IR."""


def _compiled(inspection: Inspection, sources: Sources, *, simt: bool) -> dict[str, Any]:
    """Compile a kernel for one target and describe it; an error is a description, too."""
    target = inspection.target
    try:
        made = inspection.compilation()
    except Error as error:
        return {"name": target, "error": sources.shortened(str(error)), "stages": [], "absent": []}
    artifact = made.artifact
    return {
        "name": artifact.target if is_architecture(target) else target,
        "detail": artifact.target,
        "error": None,
        "stages": [_stage(shown, sources) for shown in made.stages],
        "absent": [list(pair) for pair in _absent(made, target, simt=simt)],
        "milliseconds": round(made.seconds * 1e3, 2),
        "decisions": [
            _decision(line, sources) for line in artifact.decisions if not _judges(line, artifact)
        ],
        "verdict": [line for line in artifact.decisions if _judges(line, artifact)],
        "launch_checks": [
            {"text": show(check.expr), "lines": sources.of_span(check.span)}
            for check in artifact.launch_checks
        ],
        "checks": [_check(check, sources) for check in artifact.obligations],
        "facts": [list(pair) for pair in _facts(artifact, target)],
    }


def _stage(shown: Shown, sources: Sources) -> dict[str, Any]:
    kind, title = TITLES.get(shown.name, (IR, f"typed IR after the pass {shown.name}"))
    return {
        "name": shown.name,
        "title": title,
        "kind": kind,
        "milliseconds": round(shown.seconds * 1e3, 3),
        "lines": [sources.shortened(line) for line in shown.listing.lines],
        "places": [sources.references(places) for places in shown.listing.places],
    }


def _judges(line: str, artifact: Artifact) -> bool:
    """Return whether a line of `kernel.explain()` is what the model of resources says."""
    return line.startswith("resources:") or line in artifact.candidates


_PLACE = re.compile(r"\(?(?P<file>[^\s():]+):(?P<line>\d+):(?P<column>\d+)\)?")


def _decision(line: str, sources: Sources) -> dict[str, Any]:
    """Return a line of `kernel.explain()`, and the line of the source that it names."""
    found = _PLACE.search(line)
    number = None if found is None else sources.reference(found["file"], int(found["line"]))
    return {"text": sources.shortened(line), "lines": [] if number is None else [number]}


def _check(check: BoundsCheck, sources: Sources) -> dict[str, Any]:
    return {
        "lines": sources.of_span(check.span),
        "tensor": check.tensor,
        "axis": check.axis,
        "placement": check.placement.value,
        "reason": check.reason,
        "advice": check.advice,
    }


def _absent(made: Compilation, target: str, *, simt: bool) -> Iterator[tuple[str, str]]:
    """Yield the texts that are not there, and why."""
    names = {stage.name for stage in made.stages}
    if not is_architecture(target):
        return
    if simt:
        yield "tile_ir", "SIMT kernels become PTX by LLVM, without Tile IR"
        if "sass" not in names:
            yield (
                "sass",
                (
                    "drivers make machine code of PTX where they load it; it can be shown with"
                    f" {PTXAS} and nvdisasm: pip install {PTXAS_WHEEL} {NVDISASM_WHEEL}"
                ),
            )
    else:
        if "tileirdisasm" not in names:
            yield "tileirdisasm", "there is no tileirdisasm beside the assembler"
        if "sass" not in names:
            yield "sass", f"no nvdisasm was found: pip install {NVDISASM_WHEEL}"


def _facts(artifact: Artifact, target: str) -> Iterator[tuple[str, str]]:
    """Yield what the code needs, by name."""
    code = artifact.code
    if not is_architecture(target):
        if isinstance(code, bytes):
            yield "object file", in_bytes(len(code))
            yield "scratch memory of a worker", in_bytes(artifact.scratch_bytes)
            yield "blocks that a worker takes at once", str(artifact.together)
        return
    assert isinstance(code, bytes), "code for CUDA is bytes"
    cubin = code if is_cubin(code) else assembled(code, target)
    if cubin is None:
        yield "PTX", in_bytes(len(code))
        return
    processor = processor_of(TileTarget(target))
    block = artifact.signature.block
    threads = 1
    for n in block or ():
        threads *= n
    yield from _needs(resources(cubin), processor, threads if block is not None else 0)
    if artifact.cluster > 1:
        yield "blocks in a cluster", str(artifact.cluster)
    if artifact.seconds is not None:
        yield "time of the assembler", f"{artifact.seconds:.1f} s"


def _needs(found: Resources, processor: Processor, threads: int) -> Iterator[tuple[str, str]]:
    threads = found.threads or threads
    yield "registers of a thread", str(found.registers)
    yield "spilled by a thread", in_bytes(found.stack_bytes)
    yield "shared memory of a block", in_bytes(found.shared_bytes)
    yield "machine code", in_bytes(found.code_bytes)
    if threads:
        blocks = resident_blocks(found, processor, threads)
        share = 100 * blocks * threads / processor.threads
        yield "threads of a block", str(threads)
        yield (
            "occupancy",
            (
                f"{share:.0f} %: {blocks} blocks, {blocks * threads} of {processor.threads} threads"
                " of a multiprocessor"
            ),
        )

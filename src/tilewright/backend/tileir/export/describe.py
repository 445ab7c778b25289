"""Everything that a launch of a compiled kernel must know, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ....analysis.bounds.check_placement import shown
from ....base.cuda_abi import LAUNCH_WORDS, MAX_BLOCKS, MAX_GRID, LaunchWord
from ....ir.artifact import Artifact
from ....ir.launch_expr import show
from ....ir.signature import OutputSpec, ParamSpec, ScalarSpec, TensorSpec
from ..abi import Slot
from ..cubin import is_cubin, resources
from .grid import logical_grid
from .naming import field_names, slots_of

FORMAT = 1
"""Counts up when a reader of the JSON must change."""
ADDRESS_BYTES = 8
KINDS: dict[type[Any], str] = {TensorSpec: "tensor", OutputSpec: "output", ScalarSpec: "scalar"}


def describe(artifact: Artifact) -> dict[str, Any]:
    """The facts about a kernel, by name. Slots stand in the order of the kernel's parameters."""
    assert isinstance(artifact.code, bytes)
    signature, found = artifact.signature, slots_of(artifact)
    names = field_names(signature, found)
    return {
        "format": FORMAT,
        "symbol": artifact.name,
        "arch": artifact.target,
        "parameters": [_parameter(spec) for spec in signature.params],
        "constants": {name: str(value) for name, value in signature.constants},
        "slots": [_slot(slot, name) for slot, name in zip(found, names, strict=True)],
        "launch": _launch(artifact),
        "checks": [shown(check) for check in artifact.launch_checks],
        "record": _record() if artifact.sites else None,
        "sites": [f"{s.kind} {s.tensor or s.message}".strip() for s in artifact.sites],
        "resources": asdict(resources(artifact.code)) if is_cubin(artifact.code) else None,
    }


def _parameter(spec: ParamSpec) -> dict[str, Any]:
    kind = KINDS.get(type(spec), "pointer")
    found: dict[str, Any] = {"name": spec.name, "kind": kind, "dtype": spec.dtype.name}
    if isinstance(spec, TensorSpec | OutputSpec):
        found |= {"shape": list(spec.shape), "strides": list(spec.strides)}
        found |= {"promises": asdict(spec.facts)}
    if isinstance(spec, OutputSpec):
        groups = None if spec.groups is None else list(spec.groups)
        found |= {"tile": list(spec.tile), "groups": groups, "partial": spec.partial}
    return found


def _slot(slot: Slot, name: str) -> dict[str, Any]:
    address = slot.what in ("address", "record")
    return {
        "name": name,
        "what": slot.what,
        "parameter": slot.param if slot.param >= 0 else None,
        "axis": slot.axis if slot.what in ("extent", "stride", "grid") else None,
        "dtype": slot.dtype.name,
        "bytes": ADDRESS_BYTES if address else slot.dtype.itemsize,
    }


def _launch(artifact: Artifact) -> dict[str, Any]:
    signature = artifact.signature
    grid = logical_grid(signature)
    return {
        "grid": None if grid is None else [show(expr) for expr in grid],
        "grid_rank": signature.grid_rank,
        "folded": signature.folded,
        "turned": artifact.turned,
        "largest_grid": list(MAX_GRID if signature.block is None else MAX_BLOCKS),
        "block": [1, 1, 1] if signature.block is None else list(signature.block_dims),
        "dynamic_shared_bytes": signature.shared_bytes,
    }


def _record() -> dict[str, Any]:
    return {"words": LAUNCH_WORDS, **{word.name.lower(): int(word) for word in LaunchWord}}

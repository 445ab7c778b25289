"""Which block reads and writes what: recorded while the interpreter runs a launch once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from ...backend.reference.interpreter import run
from ...backend.reference.watch import Access, Box, Recorder
from ...base.errors import Error
from ...base.shapes import Shape
from ...ir.core import Func
from ...ir.signature import OutputSpec, ScalarSpec
from ...launch.inspection import Inspection
from ...launch.kernel import hidden_memory
from ...op.ambient import as_device
from .recording import Launched, copied
from .sources import Sources

MOST_BLOCKS = 1024
MOST_ACCESSES = 12_000
SECONDS = 8.0
VERBS = ("reads", "writes", "updates")


def described(launched: Launched, sources: Sources) -> dict[str, Any]:
    """Run the blocks of a launch in the interpreter, and return their accesses."""
    grid = launched.grid or launched.needed.grid
    if launched.values is None:
        return _nothing(grid, launched.why)
    inspection = Inspection.of_launch(launched.needed, "reference")
    try:
        artifact = inspection.artifact()
        hidden = hidden_memory(artifact.signature, as_device("cpu"))
        values = [*launched.values, *[copied(region.array()) for region in hidden]]
        func = artifact.code
        assert isinstance(func, Func), "the interpreter runs the function itself"
        recorder = Recorder(MOST_ACCESSES, SECONDS)
        order = blocks_of(grid)
        run(func, values, grid, seed=0, uninitialized=launched.unwritten,
            blocks=_while_it_lasts(order, recorder), recorder=recorder)  # fmt: skip
    except Error as error:
        return _nothing(grid, f"the interpreter cannot run it: {error.message}")
    return _data(func, values, grid, order, recorder, sources)


def blocks_of(grid: Shape) -> list[int]:
    """Return the numbers of blocks to run: all, or some, those at both ends included."""
    total = prod(grid)
    if total <= MOST_BLOCKS:
        return list(range(total))
    chosen = np.linspace(0, total - 1, MOST_BLOCKS).astype(np.int64)
    # The last blocks are those with padding: if time runs out, they have been seen.
    ordered = [int(chosen[0]), int(chosen[-1]), *chosen[1:-1].tolist()]
    return list(dict.fromkeys(ordered))


def _while_it_lasts(order: Sequence[int], recorder: Recorder) -> Iterator[int]:
    for number in order:
        if recorder.is_over:
            return
        yield number


def _nothing(grid: Shape, why: str) -> dict[str, Any]:
    return {"grid": list(grid), "why": why, "tensors": [], "accesses": [], "blocks": []}


def _data(
    func: Func, values: Sequence[Any], grid: Shape, order: Sequence[int], recorder: Recorder,
    sources: Sources,
) -> dict[str, Any]:  # fmt: skip
    tensors = _tensors(func, values)
    names = [tensor["name"] for tensor in tensors]
    blocks = list(dict.fromkeys(access.block for access in recorder.accesses))
    total = prod(grid)
    ran = len(blocks)
    why = ""
    if recorder.is_over:
        why = f"{ran} of {total} blocks: the time for recording them was over"
    elif len(order) < total:
        why = f"{len(order)} of {total} blocks, those at both ends included"
    return {
        "grid": _shown(grid, func),
        "why": why,
        "tensors": tensors,
        "blocks": [list(block) for block in blocks],
        "accesses": [
            _access(access, blocks.index(access.block), names.index(access.tensor), sources)
            for access in recorder.accesses
            if access.tensor in names
        ],
    }


def _access(access: Access, block: int, tensor: int, sources: Sources) -> list[Any]:
    return [
        block, tensor, VERBS.index(access.verb), sources.of_span(access.op.span),
        _flat(access.window), None if access.box is None else _flat(access.box),
        access.touched, access.elements, access.is_dense,
    ]  # fmt: skip


def _shown(grid: Shape, func: Func) -> list[int]:
    """Return the grid in the order of the axes of a block's index: x is first in SIMT kernels."""
    return list(grid if func.signature.block is None else reversed(grid))


def _flat(box: Box) -> list[int]:
    return [n for pair in box for n in pair]


def _tensors(func: Func, values: Sequence[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for spec, value in zip(func.signature.params, values, strict=True):
        if isinstance(value, np.ndarray) and not isinstance(spec, ScalarSpec):
            array: Any = cast("Any", value)
            tile = list(spec.tile) if isinstance(spec, OutputSpec) else None
            shape = list(array.shape)
            entry = {"name": spec.name, "dtype": spec.dtype.name, "shape": shape, "tile": tile}
            found.append(entry)
    return found

"""A launch: parameters as the driver passes them, and blocks that run one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from tilewright.backend.tileir.bytecode.program import Kernel, Val
from tilewright.backend.tileir.bytecode.types import I1, Pointer
from tilewright.ir.opdef import merged

from . import control, elementwise, layout, matmul, memory, reduction  # fmt: skip
from .machine import BlockFrame, Rule, TileIRError, TileLaunch
from .storage import DeviceMemory
from .values import Value, element, tile_kind

RULES: Mapping[str, Rule] = MappingProxyType(
    merged({
        "elementwise": elementwise.RULES,
        "layout": layout.RULES,
        "reduction": reduction.RULES,
        "matmul": matmul.RULES,
        "memory": memory.RULES,
        "control": control.RULES,
    })
)  # fmt: skip

Spans = Mapping[int, tuple[int, int]]
"""The addresses that a parameter may reach, by its position: the first, and one behind the last."""


def run(
    kernel: Kernel,
    parameters: Sequence[int],
    grid: tuple[int, int, int],
    memory: DeviceMemory,
    *,
    spans: Spans = MappingProxyType({}),
    seed: int = 0,
) -> None:
    """Run all blocks of a grid, in an order drawn from `seed`.

    A parameter is the 64-bit word at its address, of which it takes as many bytes as it has.
    Behaviour that Tile IR leaves undefined raises TileIRError. What it leaves unspecified, such as
    elements outside of a tensor that nothing pads, is an improbable number.
    """
    args = kernel.body.args
    if len(parameters) != len(args):
        raise TileIRError(f"{kernel.name} has {len(args)} parameters, {len(parameters)} were given")
    values: dict[Val, Value] = {}
    for number, (arg, word) in enumerate(zip(args, parameters, strict=True)):
        values[arg] = _argument(arg, word, memory, f"parameter {number}", spans.get(number))
    launch = TileLaunch(memory, grid, RULES)
    count = grid[0] * grid[1] * grid[2]
    # Overflow, division by zero and NaN are ordinary results here.
    with np.errstate(all="ignore"):
        for number in np.random.default_rng(seed).permutation(count).tolist():
            _run_block(launch, kernel, _place(number, grid), values)


def _run_block(
    launch: TileLaunch, kernel: Kernel, block: tuple[int, int, int], values: dict[Val, Value]
) -> None:
    frame = BlockFrame(launch, block, dict(values))
    ended = frame.run(kernel.body, [values[arg] for arg in kernel.body.args])
    if ended.name != "return":
        raise TileIRError(f"{kernel.name} ends in {ended.name}")


def _argument(
    arg: Val, word: int, memory: DeviceMemory, name: str, span: tuple[int, int] | None
) -> Value:
    kind = tile_kind(arg.kind)
    if isinstance(kind.elem, Pointer):
        return memory.pointer(name, word, span)
    scalar = kind.scalar
    if scalar is I1:
        return np.array(bool(word & 0xFF))
    return element(word & ((1 << scalar.width) - 1), scalar)


def _place(number: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the index of a block from its number; x runs fastest."""
    rest, x = divmod(number, grid[0])
    z, y = divmod(rest, grid[1])
    return x, y, z

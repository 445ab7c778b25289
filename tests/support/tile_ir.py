"""Tile IR by hand: single instructions evaluated, and small kernels built and run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.tile_ir.launch import RULES, run
from simulator.tile_ir.machine import BlockFrame, TileLaunch
from simulator.tile_ir.storage import Allocation, DeviceMemory
from simulator.tile_ir.values import ELEMENTS
from tilewright.backend.tileir.bytecode.enums import NEWEST
from tilewright.backend.tileir.bytecode.opcodes import OPCODES
from tilewright.backend.tileir.bytecode.program import (
    Instr,
    InstructionRegion,
    Kernel,
    Program,
    Val,
)
from tilewright.backend.tileir.bytecode.reader import read
from tilewright.backend.tileir.bytecode.types import Kind, ScalarType, TileValueType
from tilewright.backend.tileir.bytecode.writer import write


def instr(
    name: str, kinds: Sequence[Kind], *groups: Any, regions: Sequence[Any] = (), **attrs: Any
) -> Instr:
    """An instruction; operands in declared order, a list for `*`, None for an optional one."""
    op = OPCODES[name]
    lists = [_listed(group) for group in groups]
    lists += [[]] * (len(op.slots) - len(lists))
    full = {field.name: field.otherwise for field in op.fields} | attrs
    operands = tuple(v for group in lists for v in group)
    sizes = tuple(map(len, lists))
    return Instr(op, tuple(map(Val, kinds)), operands, sizes, full, tuple(regions))


def _listed(group: Any) -> list[Val]:
    if group is None:
        return []
    return [group] if isinstance(group, Val) else list(group)


def evaluate(name: str, kinds: Kind | Sequence[Kind], *given: Any, **attrs: Any) -> Any:
    """What an instruction gives for tiles, each written as (element type, numbers)."""
    one = not isinstance(kinds, list)
    values = [tile(*pair) for pair in given]
    made = instr(name, [kinds] if one else kinds, [v for v, _ in values], **attrs)
    made.sizes = (1,) * len(values)
    frame = BlockFrame(TileLaunch(DeviceMemory([]), (1, 1, 1), RULES), (0, 0, 0), dict(values))
    with np.errstate(all="ignore"):
        frame.run(InstructionRegion((), [made, instr("return", [])]))
    results = [frame.values[v] for v in made.results]
    return results[0] if one else results


def tile(scalar: ScalarType, numbers: Any) -> tuple[Val, Any]:
    """A value, and the tile that it is."""
    if scalar.is_int and scalar.width > 1:  # wrap around what is written as unsigned
        wide = np.asarray(np.array(numbers, object) & ((1 << scalar.width) - 1))
        array = wide.astype(f"u{scalar.width // 8}").view(ELEMENTS[scalar])
    else:
        array = np.asarray(numbers).astype(ELEMENTS[scalar])
    return Val(TileValueType(scalar, array.shape)), array


class Built:
    """A kernel in the making; as it is run it is written as bytecode, and read back."""

    def __init__(self, *kinds: Kind) -> None:
        self.body = InstructionRegion(tuple(map(Val, kinds)))
        self.args = self.body.args
        self.code = self.body.code

    def op(self, name: str, kinds: Sequence[Kind], *groups: Any, **attrs: Any) -> tuple[Val, ...]:
        """Append an instruction."""
        made = instr(name, kinds, *groups, **attrs)
        self.code.append(made)
        return made.results

    def one(self, name: str, kind: Kind, *groups: Any, **attrs: Any) -> Val:
        """Append an instruction with one result."""
        (result,) = self.op(name, [kind], *groups, **attrs)
        return result

    def inside(self, region: InstructionRegion) -> InstructionRegion:
        """Append to a region from now on; gives the one before."""
        outer = InstructionRegion((), self.code)
        self.code = region.code
        return outer

    def number(self, value: Any, scalar: ScalarType, shape: tuple[int, ...] = ()) -> Val:
        """A constant."""
        if scalar.width == 1:
            data = b"\xff" if value else b"\0"
        else:
            data = tile(scalar, value)[1].tobytes()
        return self.one("constant", TileValueType(scalar, shape), value=data)

    def run(self, *given: Any, grid: tuple[int, int, int] = (1, 1, 1), **options: Any) -> None:
        """Run it on arrays, which are whole allocations, and numbers."""
        self.body.code.append(instr("return", []))
        program, _ = read(write(Program((Kernel("kernel", self.body),)), NEWEST))
        arrays = [x for x in given if isinstance(x, np.ndarray)]
        written = options.pop("written", {})
        memory = DeviceMemory([
            Allocation(x.ctypes.data, x.reshape(-1).view(np.uint8), written.get(i))
            for i, x in enumerate(arrays)
        ])  # fmt: skip
        words = [x.ctypes.data if isinstance(x, np.ndarray) else int(x) for x in given]
        run(program.kernels[0], words, grid, memory, **options)

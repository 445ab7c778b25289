"""Launches: which instructions are known, and in which form parameters come."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from simulator.tile_ir.launch import RULES
from source_tree import SOURCES
from support.tile_ir import Built
from tilewright.backend.tileir.bytecode.opcodes import OPCODES
from tilewright.backend.tileir.bytecode.types import F32, I1, I8, I64, TOKEN, Pointer, TileValueType

LOWERING = SOURCES / "backend" / "tileir" / "lower"


def test_all_that_the_lowering_writes_is_known():
    written = {
        node.value
        for path in LOWERING.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    names = {name for name in OPCODES if name in written}
    assert len(names) > 80, "the names are written out"
    # Ops of the IR that have these names become other instructions: records, atomics of pointers.
    assert names - RULES.keys() == {"assert", "atomic_red_view_tko"}


def test_rules_are_of_instructions():
    assert RULES.keys() <= OPCODES.keys()


@pytest.mark.parametrize(
    ("scalar", "word", "dtype", "value"),
    [(I8, 0x1234_56FF, np.int8, -1), (I64, -5, np.int64, -5), (F32, 0x3F80_0000, np.float32, 1.0),
     (I1, 0x100, np.uint8, 0), (I1, 2, np.uint8, 1), (F32, 7 << 32 | 1 << 30, np.float32, 2.0)],
)  # fmt: skip
def test_parameters_take_their_bytes_of_a_word(scalar, word, dtype, value):
    built, out = Built(TileValueType(Pointer(scalar)), TileValueType(scalar)), np.full(1, 9, dtype)
    built.op("store_ptr_tko", [TOKEN], *built.args)
    built.run(out, word)
    assert out[0] == value

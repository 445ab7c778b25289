"""The parameters of compiled kernels."""

from __future__ import annotations

import re

import pytest

from tilewright.backend.tileir.target import ParameterSlot, slots, symbol
from tilewright.base.dtypes import f16, f32, i32, i64
from tilewright.ir.signature import (
    MemoryFacts,
    OutputSpec,
    PointerSpec,
    ScalarSpec,
    Signature,
    TensorSpec,
)

NARROW = MemoryFacts(narrow=True)
OUT = OutputSpec("z", f32, (None, 8), (None, 1), (2, 8), NARROW)
IN = TensorSpec("x", f16, (None,), (1,))


def test_tensors_give_what_is_not_static():
    found = slots(Signature((OUT, IN)), reports=False)
    assert found == (
        ParameterSlot("address", f32, 0), ParameterSlot("extent", i32, 0, 0),
        ParameterSlot("stride", i32, 0, 0),
        ParameterSlot("address", f16, 1), ParameterSlot("extent", i64, 1, 0),
    )  # fmt: skip


def test_numbers_and_pointers_give_themselves():
    found = slots(Signature((ScalarSpec("n", i32), PointerSpec("p", f16))), reports=False)
    assert found == (ParameterSlot("scalar", i32, 0), ParameterSlot("address", f16, 1))


def test_grid_and_record_come_last():
    found = slots(Signature((), grid_rank=4, folded=True), reports=True)
    assert found == (
        *(ParameterSlot("grid", i32, axis=k) for k in range(4)),
        ParameterSlot("record", i64),
    )


@pytest.mark.parametrize("name", ["gemm", "_x1", "größe", "κ", "日本"])
def test_symbols_are_ascii(name):
    assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", symbol(name))
    assert symbol(name) == name or not name.isascii()


@pytest.mark.parametrize("name", ["_", "WARP_SZ"])
def test_what_is_no_name_in_ptx(name):
    assert symbol(name) != name


def test_different_names_have_different_symbols():
    assert len({symbol(name) for name in ("é", "è", "e", "_e9_")}) == 4

from __future__ import annotations

import pytest

from rule_kit import Kit
from tilewright.base.dtypes import f16, f32, f64, i32
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.rules import FAMILIES, RULES
from tilewright.frontend.semantics.operands import parts, rounding_for, three, word
from tilewright.ir.attrs import Predicate, Rounding


def test_parts():
    assert parts((1, 2)) == parts([1, 2]) == (1, 2)
    assert parts(3) == (3,)
    assert parts(()) == ()


def test_words_by_member_and_by_text():
    em = Kit().em
    assert word(em, "lt", Predicate, "predicate") is Predicate.LT
    assert word(em, Predicate.LT, Predicate, "predicate") is Predicate.LT
    for wrong in ("less", "LT", 3, None, Rounding.ZERO):
        with pytest.raises(CompileError) as caught:
            word(em, wrong, Predicate, "predicate")
        assert caught.value.code is Code.TYPE
        assert caught.value.expected.startswith("tl.Predicate.EQ, tl.Predicate.NE")


def test_roundings_by_type():
    em = Kit().em
    for dtype in (f16, f32, f64):
        assert rounding_for(em, "nearest_even", dtype, "addf") is Rounding.NEAREST_EVEN
    with pytest.raises(CompileError) as caught:
        rounding_for(em, Rounding.ZERO, f16, "addf")
    assert caught.value.expected == "f32 or f64"
    with pytest.raises(CompileError) as caught:
        rounding_for(em, Rounding.FULL, f64, "divf", (Rounding.FULL,))
    assert caught.value.expected == "f32"


@pytest.mark.parametrize("place", range(3))
def test_three_keep_their_places(place):
    kit = Kit()
    operands = [1.0, 2.0, 3.0]
    operands[place] = kit.tile(f16, 4)
    found = three(kit.em, *operands, "join")
    assert found[place] is operands[place]
    assert {v.tile.dtype for v in found} == {f16}
    assert {v.tile.shape for v in found} == {(4,)}
    values = [kit.compute(v, [9, 9, 9, 9])[0] for v in found]
    assert values == [9 if k == place else n for k, n in enumerate((1, 2, 3))]


def test_three_do_not_mix():
    kit = Kit()
    with pytest.raises(CompileError) as caught:
        three(kit.em, kit.tile(i32), 1, kit.tile(f32), "join")
    assert caught.value.code is Code.PROMOTION


def test_tables_are_merged():
    assert set(RULES) == {name for table in FAMILIES.values() for name in table}

"""Values of a kernel in a user's words."""

from __future__ import annotations

import pytest

import tilewright as tw
from rule_kit import Kit
from tilewright.base.dtypes import DType
from tilewright.frontend.semantics.values import article, describe
from tilewright.ir.core import Value
from tilewright.ir.types import TensorType

SAID = [
    (True, "True"), (7, "7"), (0.5, "0.5"), ("", "''"), (None, "None"),
    ((1, (2.0, "x")), "(1, (2.0, 'x'))"), ([1, None], "[1, None]"), ((), "()"),
    (tw.f32, "the element type f32"), (DType, "the class DType"), (len, "`len`"),
    (object(), "an object"), (b"x", "a bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("x", "said"), SAID)
def test_values_of_the_host(x, said):
    assert describe(x) == said


def test_tiles_scalars_and_pointers():
    kit = Kit()
    assert describe(kit.tile(tw.f32, 4, 8)) == "an f32 tile of shape (4, 8)"
    assert describe(kit.tile(tw.bf16, 4)) == "a bf16 tile of shape (4,)"
    assert describe(kit.tile(tw.i32)) == "a scalar i32"
    assert describe(kit.pointers(tw.f32, 4)) == "a pointer to f32 tile of shape (4,)"


def test_what_lists_hold():
    assert describe((Kit().tile(tw.i8), 3)) == "(a scalar i8, 3)"


def test_values_that_are_no_tiles_go_by_their_class():
    assert describe(Value(TensorType(tw.f32, (None,), (1,)), "x")) == "a Value"


@pytest.mark.parametrize(
    ("noun", "said"),
    [("f32", "an f32"), ("i32", "an i32"), ("bf16", "a bf16"), ("function", "a function")],
)
def test_article(noun, said):
    assert article(noun) == said

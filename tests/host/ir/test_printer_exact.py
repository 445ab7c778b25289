"""Functions that differ in anything code can depend on have different exact texts."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import pytest

from support.ir import Kernel, span_of
from tilewright.base.dtypes import bf16, f16, f32, f64, i32, u32
from tilewright.ir import printer as exact_module
from tilewright.ir.attrs import Ordering, Predicate, Rounding
from tilewright.ir.core import Func
from tilewright.ir.launch_expr import LaunchCheck
from tilewright.ir.printer import NotExactError, exact, exact_text
from tilewright.ir.signature import PointerSpec
from tilewright.ir.types import PtrType, TensorType, TileType, TokenType, ViewType

QUIET, OTHER = (struct.unpack("<d", bits.to_bytes(8, "little"))[0]
                for bits in (0x7FF8 << 48, 0x7FF8 << 48 | 1))  # fmt: skip
TENSOR = TensorType(f32, (None, 8), (8, 1), False, "x")
VIEW = ViewType(TENSOR, (4, 4), (0, 1))

VALUES = [
    None, True, False, 0, 1, -1, 2**70, 0.0, -0.0, 1.0, 0.1, 1e-320, float("inf"), float("-inf"),
    QUIET, OTHER, "", "None", "0", "(", "a'b", 'a"b', "a\nb", (), (0,), (0.0,), (False,), ((),),
    ((0,), 1), (0, (1,)), ("0", "1"), ("0, 1",),
    f32, f16, bf16, i32, u32, "f32", f32(1.0), f64(1.0), i32(1), Rounding.ZERO, "zero",
    Ordering.WEAK, np.float32(1), np.float64(1), np.int32(1), ml_dtypes.bfloat16(1),
    np.float64(QUIET), np.float64(OTHER), np.float64(-0.0), np.float64(0.0),
    PtrType(f32), PtrType(f16), TileType(f32), TileType(f32, (1,)), TileType(PtrType(f32)),
    TokenType(), TENSOR, replace(TENSOR, param="y"), replace(TENSOR, param=None),
    replace(TENSOR, mutable=True), replace(TENSOR, shape=(8, None)),
    replace(TENSOR, strides=(None, 1)), replace(TENSOR, dtype=i32),
    VIEW, replace(VIEW, padding=-0.0), replace(VIEW, padding=0.0), replace(VIEW, padding=None),
    replace(VIEW, padding=False), replace(VIEW, step=(4, 4)), replace(VIEW, frame=(4, 4)),
    replace(VIEW, sparse=0), replace(VIEW, dim_map=(1, 0)), replace(VIEW, tile=(4, 8)),
    replace(VIEW, tensor=replace(TENSOR, param="y")),
]  # fmt: skip


def test_every_value_has_a_text_of_its_own():
    texts = [exact(value) for value in VALUES]
    twice = {t: [v for v, u in zip(VALUES, texts, strict=True) if u == t] for t in texts}
    assert not {t: v for t, v in twice.items() if len(v) > 1}


def test_texts_are_lines():
    assert not [value for value in VALUES if "\n" in exact(value)]


@pytest.mark.parametrize(
    "value",
    [object(), [1], {1: 2}, {1}, b"bytes", 1j, len, int, np.zeros(3)],
    ids=lambda v: type(v).__name__,
)
def test_what_it_does_not_know_it_refuses(value):
    with pytest.raises(NotExactError, match="has no exact text"):
        exact(value)
    with pytest.raises(NotExactError):
        exact((1, (value,)))


def kernel(
    name="kernel", *, op="addf", rounding=Rounding.NEAREST_EVEN, swap=False, line=1, constant=1.0,
    label="", extra=False,
):  # fmt: skip
    k = Kernel(name)
    x, z = k.tensor("x", f32, 1), k.output("z", f32, 1, (4,))
    k.span = span_of(line)
    block = k.block_id(0)
    a = k.load(x, (4,), block)
    a.name = label
    b = k.emit("constant", value=constant, dtype=f32, shape=(4,))
    operands = (b, a) if swap else (a, b)
    total = k.emit(op, *operands, rounding=rounding)
    if extra:
        k.emit("mulf", total, total)
    k.store(total, z, block, tile=(4,))
    return k.finish()


def test_an_op_is_a_line():
    line = next(line for line in exact_text(kernel()) if "addf" in line)
    attrs = "ftz=False rounding=Rounding.NEAREST_EVEN"
    assert line == f"core.addf %4 %5 /1/1 {{{attrs}}} -> %6: TileType(elem=f32 shape=(4,))"


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"}, {"op": "subf"}, {"rounding": Rounding.ZERO}, {"swap": True},
        {"constant": -1.0}, {"constant": 1}, {"extra": True},
    ],
    ids=str,
)  # fmt: skip
def test_what_changes_the_code_changes_the_text(change):
    assert exact_text(kernel(**change)) != exact_text(kernel())


def test_minus_zero_is_not_zero():
    assert exact_text(kernel(constant=-0.0)) != exact_text(kernel(constant=0.0))


@pytest.mark.parametrize("change", [{"line": 99}, {"label": "tile"}], ids=str)
def test_places_and_names_do_not_matter(change):
    assert exact_text(kernel(**change)) == exact_text(kernel())


@pytest.mark.parametrize(
    "change",
    [
        {"grid": (4, 1, 1)}, {"grid_rank": 4},
        {"params": (PointerSpec("x", f32),)}, {"params": ()},
    ],
    ids=str,
)  # fmt: skip
def test_the_signature_counts(change):
    func = kernel()
    other = Func(func.name, replace(func.signature, **change), func.params, func.body)
    assert exact_text(other) != exact_text(func)


def test_constants_are_in_the_ir_already():
    func = kernel()
    signature = replace(func.signature, constants=(("K", object()),))
    other = Func(func.name, signature, func.params, func.body)
    assert exact_text(other) == exact_text(func)


def test_launch_checks_count_their_messages_do_not():
    func = kernel()

    def checked(n, message, line):
        checks = (LaunchCheck(("ge", ("extent", "x", 0), ("const", n)), message, span_of(line)),)
        return exact_text(Func(func.name, func.signature, func.params, func.body, checks))

    assert checked(1, "a", 1) == checked(1, "b", 2)
    assert checked(1, "a", 1) != checked(2, "a", 1)
    assert checked(1, "a", 1) != exact_text(func)


def test_optional_operands_are_told_apart():
    """An index and a guard stand side by side; only the sizes say which is which."""
    func = kernel()
    load = next(op for op in func.walk() if op.name == "load_view")
    before = exact_text(func)
    assert load.sizes == (1, 1, 0)
    load.sizes = (1, 0, 1)
    assert exact_text(func) != before


def test_regions_are_told_apart():
    def branch(*, in_then):
        k = Kernel()
        k.output("z", f32, 1, (4,))
        cond = k.emit("cmpi", k.block_id(0), k.i32(0), predicate=Predicate.EQ)
        with k.region() as then:
            if in_then:
                k.i32(1)
            k.op("yield")
        with k.region() as orelse:
            if not in_then:
                k.i32(1)
            k.op("yield")
        k.op("if", cond, regions=(then, orelse))
        return k.finish()

    assert exact_text(branch(in_then=True)) != exact_text(branch(in_then=False))


def test_a_subclass_is_told_apart_and_hides_what_code_does_not_see(monkeypatch):
    @dataclass(frozen=True, slots=True)
    class Hidden(PointerSpec):
        memory: object

    monkeypatch.setitem(exact_module.UNSEEN, "Hidden", ("memory",))
    assert exact(Hidden("x", f32, object())) == exact(Hidden("x", f32, object()))
    assert exact(Hidden("x", f32, 1)) != exact(PointerSpec("x", f32))

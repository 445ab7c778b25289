"""Kernels whose calls differ in what they give: the core sorts them, as the slow path does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import python_calls
from support.leaks import assert_none_left
from support.numbers import fresh_rng
from tilewright import f32, i32

ROUNDS, SIZE = 100, 8


@tw.entry
def shifted(z: tl.TensorMut[f32], x: tl.Tensor[f32], by: tl.Tensor[f32] | None = None) -> None:
    tile = tl.load_tile_like(x, z)
    if by is not None:
        tile = tile + tl.load_tile_like(by, z)
    z.store(tile)


@tw.entry
def total(z: tl.TensorMut[f32], *xs: tl.Tensor[f32]) -> None:
    tile = tl.zeros(z.shape, f32)
    for x in xs:
        tile = tile + tl.load_tile_like(x, z)
    z.store(tile)


@tw.entry
def scaled(
    z: tl.TensorMut[f32], x: tl.Tensor[f32], *, by: f32, plus: i32 = 1, TIMES: tl.Const[int] = 1
) -> None:
    z.store(tl.load_tile_like(x, z) * by * TIMES + tl.full(z.shape, plus, i32).astype(f32))


@tw.entry
def counted(out: tl.Accumulator[f32], z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(tile)
    out.add(tl.reduce_sum(tile, 0, keepdims=True), 0)


def given() -> tuple[Any, Any, Any]:
    """An output, cut, and two inputs."""
    x, y = (tw.from_numpy(fresh_rng().random(SIZE, "f4")).sync() for _ in range(2))
    return tw.zeros(SIZE).sync().partition_mut(SIZE), x, y


CALLS: dict[str, Callable[[Any, Any, Any], tuple[Any, ...]]] = {
    "an optional tensor that is left out": lambda p, x, y: shifted(p, x).sync(),
    "one that is None": lambda p, x, y: shifted(p, x, None).sync(),
    "one that is given": lambda p, x, y: shifted(p, x, y).sync(),
    "one that is given by name": lambda p, x, y: shifted(p, by=y, x=x).sync(),
    "one tensor": lambda p, x, y: total(p, x).sync(),
    "two tensors": lambda p, x, y: total(p, x, y).sync(),
    "a number by keyword": lambda p, x, y: scaled(p, x, by=3.0).sync(),
    "its default replaced": lambda p, x, y: scaled(p, x, by=3.0, plus=2).sync(),
    "a constant besides": lambda p, x, y: scaled(p, x, TIMES=2, by=0.5, plus=-1).sync(),
}


def expected(how: str, x: Any, y: Any) -> Any:
    """What the output is then."""
    a, b = x.to_numpy(), y.to_numpy()
    return {
        "an optional tensor that is left out": a, "one that is None": a,
        "one that is given": a + b, "one that is given by name": a + b,
        "one tensor": a, "two tensors": a + b,
        "a number by keyword": a * 3 + 1, "its default replaced": a * 3 + 2,
        "a constant besides": a - 1,
    }[how]  # fmt: skip


@pytest.mark.parametrize("how", CALLS)
def test_calls_give_what_they_say_and_enter_no_python_once_they_are_known(how):
    p, x, y = given()
    for _ in range(3):
        results = CALLS[how](p, x, y)
    assert python_calls(lambda: CALLS[how](p, x, y)) == []
    assert results[0] is p and results[1] is x
    np.testing.assert_allclose(p.unpartition().to_numpy(), expected(how, x, y), rtol=1e-6)


def test_variants_take_turns():
    p, x, y = given()
    for _ in range(3):
        assert len(shifted(p, x).sync()) == 3
        np.testing.assert_array_equal(p.tensor.to_numpy(), x.to_numpy())
        p = p.tensor.partition_mut(SIZE)
        assert len(shifted(p, x, y).sync()) == 3
        np.testing.assert_array_equal(p.tensor.to_numpy(), x.to_numpy() + y.to_numpy())
        p = p.tensor.partition_mut(SIZE)
        assert len(total(p, x, y, x).sync()) == 4 and len(total(p, x).sync()) == 2


def test_all_blocks_add_to_what_was_borrowed_whole():
    p, x, _ = given()
    out = tw.zeros(1).sync()
    for _ in range(3):
        assert counted(out.borrow_mut(), p, x).sync()[1] is p
    borrow = out.borrow_mut()
    assert python_calls(lambda: counted(borrow, p, x).sync()) == []
    assert out.to_numpy() == pytest.approx(x.to_numpy().sum() * 4, rel=1e-5)


REFUSED: dict[str, Callable[[Any, Any, Any], object]] = {
    "a number is missing": lambda p, x, y: scaled(p, x),
    "a number that does not fit": lambda p, x, y: scaled(p, x, by=1.0, plus=1 << 40),
    "a number that is none": lambda p, x, y: scaled(p, x, by="2"),
    "an unknown keyword": lambda p, x, y: scaled(p, x, by=2.0, time=2),
    "given twice": lambda p, x, y: shifted(p, x, y, by=y),
    "too many": lambda p, x, y: shifted(p, x, y, y),
    "by the name of further arguments": lambda p, x, y: total(p, xs=x),
    "an accumulator cut into tiles": lambda p, x, y: counted(y.partition_mut(1), p, x),
    "an accumulator that is only read": lambda p, x, y: counted(y, p, x),
    "an output that is borrowed whole": lambda p, x, y: shifted(y.borrow_mut(), x),
    "an output that was None": lambda p, x, y: shifted(None, x),
}


def message(call: Callable[[], object]) -> str:
    with pytest.raises((TypeError, tw.Error)) as raised:
        call()
    return f"{type(raised.value).__name__}: {raised.value}"


@pytest.mark.parametrize("how", REFUSED)
def test_refusals(how, golden, without_places):
    p, x, y = given()
    for _ in range(2):
        scaled(p, x, by=1.0).sync(), shifted(p, x).sync(), counted(y.borrow_mut(), p, x).sync()
    golden(without_places(message(lambda: REFUSED[how](p, x, y))))


def test_numbers_by_keyword_wait_for_argument_ops_too():
    p, x, _ = given()
    for by in (2.0, 3.0, 4.0):
        scaled(p, x.dup(), by=by, TIMES=2).sync()
        np.testing.assert_allclose(p.tensor.to_numpy(), x.to_numpy() * by * 2 + 1, rtol=1e-6)
        p = p.tensor.partition_mut(SIZE)


def test_nothing_is_left_behind():
    p, x, y = given()
    watched = [p, x, y, x.plain, shifted.kernel, total.kernel, scaled.kernel, None, True, ()]

    def all_ways() -> None:
        for call in CALLS.values():
            call(p, x, y)
        for call in (REFUSED["a number is missing"], REFUSED["an unknown keyword"]):
            with pytest.raises((TypeError, tw.Error)):
                call(p, x, y)

    assert_none_left(all_ways, watched, ROUNDS)


@pytest.mark.parametrize(
    "wrong",
    [
        (), ((), ()), (None, (), None), ((), None, None), ((), (), 3), ((("x",),), (), None),
        ((("x", True, True),), (), (1,)), ((), ((),), None), ((), ((1, 2),), None),
        ((), (("x", 1, 2),), None), ((("x", True, True),), (), ("x",)),
    ],
)  # fmt: skip
def test_what_the_core_is_told_of_calls_is_checked(wrong):
    with pytest.raises(TypeError):
        shifted.kernel._set_calls(*wrong)
    test_calls_give_what_they_say_and_enter_no_python_once_they_are_known("one that is given")

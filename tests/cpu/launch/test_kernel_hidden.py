"""Globals on both devices: they keep their values between launches, whoever writes them."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import f32, i32, i64
from tilewright.base.dtypes import ALL, f4e2m1fn

hits = tl.Global(i32)
totals = tl.Global(f32, shape=(8,))
flag = tl.Global(i32)
answer = tl.Global(i64, [1, 2, 3])


@pytest.fixture(params=["cpu", "reference"], autouse=True)
def device(request):
    with tw.device(request.param), tw.unsafe():
        for g in (hits, totals, flag, answer):
            g.reset()
        yield request.param


@tw.entry(unsafe=True)
def count(x: tl.Tensor[f32], limit: f32, *, BLOCK: tl.Const[int] = 16) -> None:
    tile = x.load_tile((BLOCK,), [tl.block_id(0)], padding=tl.neg_inf)
    hits.atomic_add(tl.reduce_sum((tile > limit).astype(i32), 0))


@tw.entry(unsafe=True)
def add_up(x: tl.Tensor[f32]) -> None:
    totals.atomic_add(x.load_tile((8,), [tl.block_id(0)]))


@tw.entry(unsafe=True)
def ticket(z: tl.TensorMut[i32]) -> None:
    z.store(tl.full((1,), hits.atomic_add(1), i32))


@tw.entry
def untouched(z: tl.TensorMut[f32]) -> None:
    z.store(z.load() + 1.0)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 1009])
def test_blocks_count_together(n):
    x = fresh_rng().standard_normal(n).astype("f4")
    count(x, 0.5).grid((-(-n // 16),)).sync()
    assert hits.to_numpy() == (x > 0.5).sum()


def test_values_stay_between_launches():
    x = fresh_rng().integers(-9, 9, 24).astype("f4")
    for launches in (1, 2, 3):
        add_up(x).grid((3,)).sync()
        assert totals.to_numpy().tolist() == (x.reshape(3, 8).sum(0) * launches).tolist()
    totals.copy_from(100)
    add_up(x).grid((3,)).sync()
    assert totals.to_numpy().tolist() == (x.reshape(3, 8).sum(0) + 100).tolist()


def test_old_values_are_given_once_each():
    z = tw.full((64,), -1, i32).sync()
    ticket(z.partition_mut((1,))).sync()
    assert sorted(z.to_numpy().tolist()) == list(range(64))
    ticket(z.partition_mut((1,))).sync()
    assert sorted(z.to_numpy().tolist()) == list(range(64, 128))


def test_devices_keep_their_own(device):
    there = "reference" if device == "cpu" else "cpu"
    hits.copy_from(1000, device=there)
    ticket(tw.full((4,), -1, i32).sync().partition((1,))).sync()
    assert hits.to_numpy() == 4
    assert hits.to_numpy(device=there) == 1000


def test_an_empty_grid_leaves_it_alone():
    count(np.ones(4, "f4"), 0.5).grid((0,)).sync()
    assert hits.to_numpy() == 0


def test_hidden_parameters_are_shown():
    assert "hidden parameter: global `hits`" in ticket.explain(tw.meta((4,), i32).partition((1,)))
    assert ticket.compile(tw.meta((4,), i32).partition((1,))).signature.hidden == 1
    assert untouched.compile(tw.meta((4,)).partition((4,))).signature.hidden == 0
    assert "hidden parameter" not in untouched.explain(tw.meta((4,)).partition((4,)))


SOURCE = """
counter = tl.Global(i32, 10)

@tw.entry(unsafe=True)
def kernel() -> None:
    counter.atomic_add(1)
"""


def test_another_global_under_the_name_is_noticed():
    names = tw.exec(SOURCE, {"tw": tw, "tl": tl, "i32": i32})
    kernel, first = names["kernel"], names["counter"]
    kernel().grid((2,)).sync()
    kernel().grid((2,)).sync()
    assert first.to_numpy() == 14
    names["counter"] = second = tl.Global(i32, 50)
    kernel().grid((2,)).sync()
    assert (first.to_numpy(), second.to_numpy()) == (14, 52)
    assert "`counter`, which it captured, has changed" in kernel.explain_recompile()


def test_globals_of_functions_are_found():
    def make():
        local = tl.Global(i32, 1)

        def bump(g: tl.Global[i32], by: int) -> None:
            g.store(g.load() + by)

        @tw.entry(unsafe=True)
        def kernel(n: i32) -> None:
            bump(local, 2)
            if n > 0:
                bump(local, 3)

        return kernel, local

    kernel, local = make()
    kernel(0).grid((1,)).sync()
    assert local.to_numpy() == 3
    kernel(1).grid((1,)).sync()
    assert local.to_numpy() == 8
    another, _ = make()
    another(1).grid((1,)).sync()
    assert local.to_numpy() == 8


@pytest.mark.parametrize("dtype", [t for t in ALL if t is not f4e2m1fn], ids=lambda t: t.name)
def test_every_element_type(dtype):
    rng = fresh_rng()
    values = rng.integers(0, 2, 8).astype("f4") + 1
    g = tl.Global(dtype, values if not dtype.is_bool else values - 1)
    copy = tl.Global(dtype, 1, (8,))
    before = g.to_numpy()

    @tw.entry(unsafe=True)
    def kernel() -> None:
        copy.store(g.load())
        at = tl.arange(8)
        tl.scatter(tl.get_global(g), at, tl.gather(tl.get_global(g), 7 - at))

    kernel().grid((1,)).sync()
    assert copy.to_numpy().view("u1").tolist() == before.view("u1").tolist()
    assert g.to_numpy().view("u1").tolist() == before[::-1].copy().view("u1").tolist()


@tw.entry(unsafe=True)
def third(n: i32) -> None:
    p = tl.get_global(answer) + n
    tl.store_ptr(p, tl.load_ptr(p) * 10)


def test_elements_by_pointer():
    for n in (2, 0):
        third(n).grid((1,)).sync()
    assert answer.to_numpy().tolist() == [10, 2, 30]


def test_the_reference_knows_where_a_global_ends(device):
    if device == "reference":
        with pytest.raises(tw.LaunchError, match="out of bounds"):
            third(3).grid((1,)).sync()


@tw.entry(unsafe=True)
def chained(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
    i = tl.block_id(0)
    tile = tl.load_tile_like(x, z)
    while flag.load(ordering="acquire") < i:
        pass
    before = hits.load()
    hits.store(before + tl.reduce_sum(tile, 0))
    flag.store(i + 1, ordering="release")
    z.store(tl.cumsum(tile, 0) + before)


def test_blocks_wait_for_those_before_them(device):
    """Native blocks start in order, so the one waited for is under way; the reference shuffles."""
    if device == "cpu":
        x = fresh_rng().integers(-99, 99, 2048, dtype="i4")
        z = chained(tw.zeros((2048,), i32).partition((32,)), x).out().to_numpy().sync()
        assert np.array_equal(z, np.cumsum(x))
        assert (hits.to_numpy(), flag.to_numpy()) == (x.sum(), 64)


@tw.entry(unsafe=True)
def racing() -> None:
    flag.store(tl.block_id(0))


def test_the_reference_names_a_global_two_blocks_write(device):
    if device == "reference":
        with pytest.raises(tw.LaunchError, match="two blocks write flag"):
            racing().grid((2,)).sync()

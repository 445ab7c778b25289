from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import simt
from tilewright.launch.plain import picking


@pytest.fixture(autouse=True)
def on_reference():
    with tw.device("reference"):
        yield


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def scaled(x: tl.Tensor, factor: tw.f32, z: tl.TensorMut) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


def some(count=1):
    made = [tw.from_numpy(fresh_rng().random(8, "f4")).sync() for _ in range(count)]
    return made if count > 1 else made[0]


def is_plain(op):
    op.close()
    return op._bound.held is not None


KINDS = {
    "a tensor": (some, True),
    "a fresh one": (lambda: tw.zeros(8).sync(), True),
    "an arc": (lambda: tw.Arc(some()), True),
    "an arc that was used": (lambda: used(tw.Arc(some())), True),
    "an array": (lambda: np.ones(8, "f4"), True),
    "a tensor over an array": (lambda: tw.asarray(np.ones(8, "f4")), True),
    "a view": (lambda: VIEWED[4:12], True),
    "a part that is all of it": (lambda: VIEWED[:], True),
}
VIEWED = None


def used(arc):
    add(tw.zeros(8).sync().partition(4), arc, arc).sync()
    return arc


@pytest.mark.parametrize("kind", KINDS)
def test_what_needs_no_closer_look(kind, monkeypatch):
    monkeypatch.setattr(f"{__name__}.VIEWED", tw.from_numpy(np.ones(16, "f4")).sync()[0:16])
    make, plain = KINDS[kind]
    x, z = make(), tw.zeros(8).sync()
    if kind == "a part that is all of it":
        x = x[:8]
    assert is_plain(add(z.partition_mut(4), x, x)) is plain


def test_a_tensor_that_was_taken_over_may_go_back_until_its_owner_ran():
    z, x = some(2)
    p = z.partition(4)
    op = add(p, x, x)
    assert is_plain(op) and op._bound.has_former
    add(p, x, x).sync()
    op = add(p, x, x)
    assert is_plain(op) and not op._bound.has_former
    with pytest.raises(tw.BorrowError, match="was moved"):
        z.to_numpy()


@tw.entry
def visit(z: tl.MappedPartitionMut, w: tl.TensorMut, x: tl.Tensor) -> None:
    xs = x.partition(z.shape)
    for index in z.iter_indices():
        z.store(xs.load([*index]) + 1.0, index)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 13])
def test_mapped_partitions_need_no_closer_look(size):
    z, w = (tw.full((size,), np.nan).sync() for _ in range(2))
    x = tw.asarray(fresh_rng().random(size, "f4"))
    mapped, plain = z.partition_mut(4).map(2, 1), w.partition_mut(size)
    for _ in range(2):
        assert is_plain(visit(mapped, plain, x))
        visit(mapped, plain, x).sync()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() + 1)


def test_partitions_of_the_other_kind_are_refused_after_plain_launches():
    z, w, x = some(3)
    mapped, plain = z.partition_mut(4).map(1, 1), w.partition_mut(8)
    visit(mapped, plain, x).sync()
    for wrong in [(plain, plain), (mapped, w.partition_mut(8).map(1, 1))]:
        with pytest.raises(tw.LaunchError, match="the wrong kind of partition"):
            visit(*wrong, x)
    visit(z.partition_mut(4).map(1, 1), w.partition_mut(8), x).sync()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() + 1)


def test_a_moved_tensor_is_not():
    z, x, y = some(3)
    add(z.partition_mut(4), x, y).sync()
    moved = tw.move(x)
    with pytest.raises(tw.BorrowError, match="moved"):
        add(z.partition_mut(4), x, y)
    add(z.partition_mut(4), moved, y).sync()
    assert is_plain(add(z.partition_mut(4), moved, y))


def test_what_a_kernel_writes_is_right_whatever_was_written_before():
    rng = fresh_rng()
    for size in (1, 3, 4, 5, 13):
        a, b = rng.random(size, "f4"), rng.random(size, "f4")
        x, y, z = tw.asarray(a), tw.asarray(b), tw.full((size,), np.nan).sync()
        for left, right in ((x, y), (y, x), (x, x)):
            op = add(z.partition_mut(4), left, right)
            assert op._bound.held is not None
            op.sync()
            np.testing.assert_array_equal(z.to_numpy(), left.to_numpy() + right.to_numpy())


def test_numbers_are_checked_and_arguments_found_in_any_order():
    x, z = some(2)
    op = scaled(x, 2.5, z.partition_mut(4))
    assert op._bound.held is not None
    op.sync()
    np.testing.assert_allclose(z.to_numpy(), 2.5 * x.to_numpy(), rtol=1e-6)
    with pytest.raises(tw.ShapeError, match="factor"):
        scaled(x, "two", z.partition_mut(4))


def test_launches_alike_have_one_form_whichever_way_they_are_bound():
    x, y, z = some(3)
    plain = add(z.partition_mut(4), x, y)
    plain.close()
    closely = add.kernel.bind((z.partition_mut(4), x, y), {}, ())
    assert plain._bound.held is not None and closely.held is None
    assert plain._bound.form is closely.form


def test_tensors_of_other_layouts_are_told_apart():
    forms = set()
    for shape in ((8,), (9,), (8,), (2, 4)):
        z, x = tw.zeros(shape).sync(), tw.ones(shape).sync()
        op = add(z.partition_mut(tuple(min(4, n) for n in shape)), x, x)
        op.close()
        forms.add(op._bound.form)
    assert len(forms) == 3


def test_a_borrow_that_ended_is_named(places, golden):
    x, y, z, w = some(4)
    op = add(z.partition_mut(4), x, y)
    assert op._bound.held is not None
    add(y.partition_mut(4), x, w).sync()
    with pytest.raises(tw.BorrowError) as caught:
        op.sync()
    golden(places(caught.value))


def test_memory_stays_while_a_launch_may_use_it():
    x, y, z = some(3)
    wanted = x.to_numpy() + y.to_numpy()
    op = add(z.partition_mut(4), x, y)
    del x, y
    gc.collect()
    op.sync()
    np.testing.assert_array_equal(z.to_numpy(), wanted)


def test_nothing_else_is_taken_for_plain():
    class Pretends:
        plain = stamp = b"x" * 64
        tensor = None

    with pytest.raises(TypeError, match="must be a tensor"):
        add(tw.zeros(8).sync().partition(4), Pretends(), Pretends())


@pytest.mark.parametrize("places", [(), (2,), (1, 2, 3), (0, 2), (3, 1), (0, 1, 2, 3)])
def test_picking(places):
    values = ("a", "b", "c", "d")
    found = picking(places, 4)(values)
    assert tuple(found) == tuple("abcd"[i] for i in places) and found is not values


@simt.kernel
def doubled(out: simt.DisjointSlice[tw.f32], x: simt.Slice[tw.f32]) -> None:
    assert len(x) >= len(out)
    i = simt.index_1d()
    if i < len(out):
        out[i] = 2.0 * x[i]


def test_whole_tensors_that_are_written_are_plain_too():
    x, z = some(2)
    borrow = z.borrow_mut()
    for _ in range(3):
        assert is_plain(doubled(borrow, x))
        doubled(borrow, x).sync()
        np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy())
        borrow = z.borrow_mut()
    for whole in (lambda: z.borrow_mut()[:], lambda: tw.move(z)):
        assert is_plain(doubled(whole(), x))
        doubled(whole(), x).sync()


def test_a_borrow_of_a_whole_tensor_ends_as_others_do():
    x, z = some(2)
    borrow = z.borrow_mut()
    first = doubled(borrow, x)
    doubled(borrow, x).sync()
    with pytest.raises(tw.BorrowError, match=r"its exclusive borrow of .* has ended"):
        first.sync()
    z.to_numpy()
    with pytest.raises(tw.BorrowError, match=r"this exclusive borrow of .* has ended"):
        doubled(borrow, x)


@tw.entry
def times(z: tl.TensorMut, x: tl.Tensor, *, BY: tl.Const[object], ADD: tl.Const[int] = 0) -> None:
    z.store(tl.load_tile_like(x, z) * BY + ADD)


def test_constants_that_are_known_need_no_closer_look():
    z, x = some(2)
    for by, add in [(2, 0), (3, 0), (2, 1)] * 3:
        times(z.partition_mut(4), x, BY=by, ADD=add).sync()
        np.testing.assert_allclose(z.to_numpy(), x.to_numpy() * by + add)
    assert is_plain(times(z.partition_mut(4), x, BY=2, ADD=1))
    assert is_plain(times(z.partition_mut(4), x, BY=4))


@pytest.mark.parametrize("equal", [(1, True, 1.0), (0.0, -0.0), ((1,), (True,))])
def test_equal_constants_of_other_kinds_are_others(equal):
    asked = [times.kernel.request((1, 2), {"BY": one}) for one in equal]
    again = [times.kernel.request((1, 2), {"BY": one}) for one in equal]
    assert len(set(asked)) == len(equal)
    assert all(a is b for a, b in zip(asked, again, strict=True))


@tw.entry
def raised(z: tl.TensorMut, x: tl.Tensor, *, BY: tl.Const[int] = 1) -> None:
    z.store(tl.load_tile_like(x, z) + BY)


def test_a_call_without_keywords_has_the_defaults():
    z, x = some(2)
    for _ in range(2):
        raised(z.partition_mut(4), x).sync()
        np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() + 1)
        raised(z.partition_mut(4), x, BY=5).sync()
        np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() + 5)
    assert is_plain(raised(z.partition_mut(4), x))


def test_wrong_keywords_are_refused_after_right_ones():
    z, x = some(2)
    p = z.partition_mut(4)
    for _ in range(2):
        times(p, x, BY=2).sync()
    for keywords, message in [({}, "needs the constant `BY`"), ({"NO": 1}, "no parameter `NO`")]:
        with pytest.raises(TypeError, match=message):
            times(p, x, **keywords)
    with pytest.raises(tw.LaunchError, match="cannot be part of the compilation's key"):
        times(p, x, BY=[2])
    with pytest.raises(TypeError, match="takes 2 positional arguments"):
        times(p, BY=2)
    times(p, BY=2, x=x).sync()


def test_calls_by_keyword_are_plain_and_keep_nothing():
    z, x = some(2)
    p = z.partition_mut(4)
    for by in (2, 3):
        times(p, x, BY=by).sync()
        assert is_plain(times(x=x, BY=by, z=p))
        times(x=x, BY=by, z=p).sync()
        np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() * by)
        p = z.partition_mut(4)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None

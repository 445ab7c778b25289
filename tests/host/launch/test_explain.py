from __future__ import annotations

import gc

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl


@pytest.fixture(autouse=True)
def on_reference():
    with tw.device("reference"):
        yield


@tw.entry
def neg(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(-tl.load_tile_like(x, z))


@tw.entry
def fill_two(a: tl.TensorMut, b: tl.TensorMut) -> None:
    a.store(tl.full(a.shape, 1, a.dtype))
    b.store(tl.full(b.shape, 2, b.dtype))


@tw.entry
def failing(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(x.load_tile(z.shape, (tl.block_id(0) + 9, 0)))


@pytest.fixture
def z():
    return tw.zeros((4, 4)).sync()


@pytest.fixture
def x():
    return np.arange(16, dtype="f4").reshape(4, 4)


# The same memory in one launch


def test_reading_and_writing_one_tensor(z, golden, places):
    with pytest.raises(tw.BorrowError) as caught:
        neg(z.partition_mut((2, 2)), z)
    golden(places(caught.value))


def test_writing_one_tensor_twice(z, golden, places):
    p = z.partition_mut((2, 2))
    with pytest.raises(tw.BorrowError) as caught:
        fill_two(p, p)
    golden(places(caught.value))


@pytest.mark.parametrize(
    "view", [lambda z: z[1:], lambda z: z.reshape(16), lambda z: np.asarray(z)]
)
def test_views_of_the_output_are_the_output(z, view):
    v = view(z)
    with pytest.raises(tw.BorrowError, match="would write and read one tensor"):
        neg(z.partition_mut((2, 2)), v)


def test_the_same_input_twice_is_fine(x):
    z = tw.zeros((4, 4)).sync()

    @tw.entry
    def add(z: tl.TensorMut, a: tl.Tensor, b: tl.Tensor) -> None:
        z.store(tl.load_tile_like(a, z) + tl.load_tile_like(b, z))

    add(z.partition_mut((2, 2)), x, x).sync()
    assert (z.to_numpy() == 2 * x).all()


def test_disjoint_parts_of_one_array_may_be_read_and_written(x):
    left, right = tw.asarray(x[:, :2]), x[:, 2:]
    expected = -x[:, 2:]
    neg(left.partition_mut((2, 2)), right).sync()
    assert (x[:, :2] == expected).all()
    with pytest.raises(tw.BorrowError, match="are the same storage"):
        neg(left.partition_mut((2, 2)), x[:, 1:3])


def test_disjoint_parts_of_one_tensor_are_two_outputs(z):
    top, bottom = z.borrow_mut().split_at(2)
    fill_two(top.partition((2, 2)), bottom.partition((2, 2))).sync()
    assert z.to_numpy().tolist() == [[1] * 4] * 2 + [[2] * 4] * 2
    left, right = z.borrow_mut().split_at(2, axis=1)
    fill_two(left.partition((2, 2)), right.partition((2, 2))).sync()
    assert z.to_numpy().tolist() == [[1, 1, 2, 2]] * 4


def test_overlapping_parts_of_one_tensor_are_refused(z):
    m = z.borrow_mut()
    top = m[:3].partition((2, 2))
    with pytest.raises(tw.BorrowError, match="write one tensor twice"):
        fill_two(top, top)
    with pytest.raises(tw.BorrowError, match="would write one tensor twice"):
        fill_two(top, m[2:].partition((2, 2)))


def test_a_part_is_written_while_another_is_read(z, x):
    z = tw.from_numpy(x).sync()
    m = z.borrow_mut()
    out, source = m[:2].partition((2, 2)), m[2:].partition((2, 2)).unpartition()
    neg(out, source).sync()
    assert (z.to_numpy() == np.concatenate([-x[2:], x[2:]])).all()


def test_two_ops_on_disjoint_parts(z, x):
    m = z.borrow_mut()
    first, second = neg(m[:2].partition((2, 2)), x[:2]), neg(m[2:].partition((2, 2)), x[2:])
    second.sync()
    first.sync()
    assert (z.to_numpy() == -x).all()


def test_an_op_on_a_view_stands_while_another_part_is_written(x):
    z, t = tw.zeros((2, 4)).sync(), tw.from_numpy(x).sync()
    m = t.borrow_mut()
    top = m[:2].partition((2, 2))
    op = neg(z.partition_mut((2, 2)), t[2:])
    neg(top, x[2:]).sync()
    op.sync()
    assert (z.to_numpy() == -x[2:]).all()
    stale = neg(z.partition_mut((2, 2)), t[2:])
    neg(t.borrow_mut()[3:].partition((2, 2)), x[:1]).sync()
    with pytest.raises(tw.BorrowError, match="its shared borrow of"):
        stale.sync()


# Borrows begin when the launch is built


def test_a_write_in_between_ends_a_shared_borrow(z, x, golden, places):
    t = tw.from_numpy(x).sync()
    op = neg(z.partition_mut((2, 2)), t)
    neg(t.partition_mut((2, 2)), x).sync()
    with pytest.raises(tw.BorrowError) as caught:
        op.sync()
    golden(places(caught.value))


def test_a_read_in_between_ends_the_exclusive_borrow(z, x, golden, places):
    op = neg(z.partition_mut((2, 2)), x)
    z.to_numpy()
    with pytest.raises(tw.BorrowError) as caught:
        op.sync()
    golden(places(caught.value))


def test_moving_in_between_ends_borrows(z, x):
    t = tw.from_numpy(x).sync()
    op = neg(z.partition_mut((2, 2)), t)
    kept = tw.move(t)
    with pytest.raises(tw.BorrowError, match=r"it was consumed by tw\.move\(\)"):
        op.sync()
    del kept


def test_the_later_of_two_ops_on_one_output_wins(z, x):
    first = neg(z.partition_mut((2, 2)), x)
    neg(z.partition_mut((2, 2)), x).sync()
    with pytest.raises(tw.BorrowError, match="its exclusive borrow of"):
        first.sync()


def test_old_ops_and_views_in_variables_lock_nothing(z, x):
    old_op, old_view = neg(z.partition_mut((2, 2)), x), z[:2]
    neg(z.partition_mut((2, 2)), x).sync()
    assert (z.to_numpy() == -x).all()
    old_op.close()
    del old_view


def test_a_partition_may_be_used_again(z, x):
    p = z.partition_mut((2, 2))
    for factor in (1, 2, 3):
        assert neg(p, factor * x).sync()[0] is p
    assert (z.to_numpy() == -3 * x).all()


def test_two_ops_with_one_partition(z, x):
    p = z.partition_mut((2, 2))
    first, second = neg(p, x), neg(p, 2 * x)
    with pytest.raises(tw.BorrowError, match="its exclusive borrow"):
        first.sync()
    second.sync()
    assert (z.to_numpy() == -2 * x).all()


def test_reading_twice_at_once_is_fine(x):
    t = tw.from_numpy(x).sync()
    a, b = tw.zeros((4, 4)).sync(), tw.zeros((4, 4)).sync()
    first, second = neg(a.partition_mut((2, 2)), t), neg(b.partition_mut((2, 2)), t)
    second.sync()
    first.sync()
    assert (a.to_numpy() == b.to_numpy()).all()


# Taking over


def test_a_taken_tensor_comes_back_by_unpartition(z, x):
    p, _ = neg(z.partition((2, 2)), x).sync()
    with pytest.raises(tw.BorrowError, match="this tensor was moved"):
        z.to_numpy()
    assert (p.unpartition().to_numpy() == -x).all()


def test_results_dropped_after_a_run_are_gone(z, x):
    neg(z.partition((2, 2)), x).sync()
    with pytest.raises(tw.BorrowError, match="this tensor was moved"):
        z.to_numpy()


def test_a_refused_launch_gives_back(z, x):
    with pytest.raises(tw.BorrowError) as kept:
        neg(z.partition((2, 2)), z)
    assert kept.value
    neg(z.partition((2, 2)), x).sync()


def test_a_failed_launch_gives_back_although_the_traceback_lives(z, x):
    with pytest.raises(tw.LaunchError) as kept:
        failing(z.partition((2, 2)), x).sync()
    assert kept.value
    z.partition_mut((2, 2))


def test_a_dropped_launch_gives_back(z, x):
    op = neg(z.partition((2, 2)), x)
    op.close()
    del op
    gc.collect()
    z.to_numpy()


def test_a_moved_input_is_gone_after_the_run(z, x):
    t = tw.from_numpy(x).sync()
    neg(z.partition_mut((2, 2)), tw.move(t)).sync()
    with pytest.raises(tw.BorrowError, match="this tensor was moved"):
        t.to_numpy()


# Leases and memory


def test_a_numpy_view_blocks_writing(z, x, golden, places):
    view = np.asarray(z)
    op = neg(z.partition_mut((2, 2)), x)
    with pytest.raises(tw.BorrowError) as caught:
        op.sync()
    golden(places(caught.value))
    del view
    neg(z.partition_mut((2, 2)), x).sync()


def test_a_numpy_view_does_not_block_reading(z, x):
    t = tw.from_numpy(x).sync()
    view = np.asarray(t)
    neg(z.partition_mut((2, 2)), t).sync()
    assert (view == x).all()


def test_writing_an_aliased_array_writes_the_array(x):
    a = np.zeros((4, 4), "f4")
    neg(tw.asarray(a).partition_mut((2, 2)), x).sync()
    assert (a == -x).all()


def test_unwritten_memory_cannot_be_read(z, golden, places):
    t = tw.empty((4, 4)).sync()
    with pytest.raises(tw.BorrowError) as caught:
        neg(z.partition_mut((2, 2)), t).sync()
    golden(places(caught.value))
    neg(t.partition_mut((2, 2)), z).sync()
    t.to_numpy()


def test_descriptions_cannot_run(x):
    with pytest.raises(tw.BorrowError, match="a description without memory"):
        neg(tw.meta((4, 4)).partition((2, 2)), x).sync()
    with pytest.raises(tw.BorrowError, match="a description without memory"):
        neg(tw.zeros((4, 4)).partition((2, 2)), tw.meta((4, 4))).sync()


# Devices


def test_devices_do_not_mix(z, golden, places):
    t = tw.zeros((4, 4), device="cpu").sync()
    with pytest.raises(tw.LaunchError) as caught:
        neg(z.partition_mut((2, 2)), t)
    golden(places(caught.value))


# Notebooks: cells run in one namespace, twice each, whatever happened before

CELLS = {
    "in place": "neg(z.partition_mut((2, 2)), x).sync()",
    "a forgotten ending": "kept = neg(z.partition_mut((2, 2)), x); kept.close()",
    "taken and rebound": "z = neg(z.partition((2, 2)), x).out().sync()",
    "a part shown": "Out.append(z[:2]); neg(z.partition_mut((2, 2)), x).sync()",
    "a result kept": "Out.append(neg(z.partition_mut((2, 2)), x).sync())",
    "read and written": "Out.append(z.to_numpy()); neg(z.partition_mut((2, 2)), x).sync()",
}


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_may_be_run_again(cell, z, x):
    names = {"z": z, "x": x, "neg": neg, "Out": []}
    for _ in range(3):
        exec(CELLS[cell], names)
    neg(names["z"].partition_mut((2, 2)), x).sync()
    assert (names["z"].to_numpy() == -x).all()


def test_a_cell_that_was_wrong_can_be_corrected(z, x):
    names = {"z": z, "x": x, "neg": neg, "tracebacks": []}
    for wrong in ("neg(z.partition((2, 2)), [1])", "failing(z.partition((2, 2)), x).sync()"):
        names["failing"] = failing
        with pytest.raises((TypeError, tw.LaunchError)) as caught:
            exec(wrong, names)
        names["tracebacks"].append(caught)
        z.to_numpy()
    exec("z = neg(z.partition((2, 2)), x).out().sync()", names)
    assert (names["z"].to_numpy() == -x).all()


def test_an_array_kept_by_a_notebook_blocks_until_it_is_deleted(z, x):
    kept = [np.asarray(z)]
    for _ in range(2):
        with pytest.raises(tw.BorrowError, match=r"in a notebook, Out\[\.\.\.\] may hold it"):
            neg(z.partition_mut((2, 2)), x).sync()
    kept.clear()
    neg(z.partition_mut((2, 2)), x).sync()


def test_work_of_a_borrower_also_settles_a_move(z, x):
    y = tw.move(z)
    neg(y.partition_mut((2, 2)), x).sync()
    del y
    with pytest.raises(tw.BorrowError, match="this tensor was moved"):
        z.to_numpy()

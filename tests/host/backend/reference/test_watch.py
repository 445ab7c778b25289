"""Problems found: races between blocks, accesses out of bounds, reads of what nobody wrote."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import Kernel, poisoned
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import bool_, f32, i8, i32
from tilewright.ir.attrs import AtomicMode, Ordering, Predicate, Scope

SEEDS = range(8)


def problems(func, arguments, grid, seeds=SEEDS, **more):
    """The problems of each seed, with fresh copies of the arrays."""
    found = []
    for seed in seeds:
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        found.append(run(func, given, grid, seed=seed, **more).problems)
    return found


def only_block(k, number, build, *otherwise):
    """Run `build` in one block, and the other function, if any, in the rest."""
    cond = k.emit("cmpi", k.block_id(), k.i32(number), predicate=Predicate.EQ)
    regions = []
    for part in (build, *otherwise):
        with k.region() as region:
            part()
            k.op("yield")
        regions.append(region)
    if not otherwise:
        with k.region() as region:
            k.op("yield")
        regions.append(region)
    k.op("if", cond, regions=regions)


def test_two_writers_of_one_element_are_named_with_both_places():
    k = Kernel()
    z = k.output("z", f32, 2)

    def first():
        k.line(5, "    z.store(a)")
        k.store(k.constant(1.0, f32, (2, 4)), z, 1)

    def second():
        k.line(9, "    z.store(b)")
        k.store(k.constant(2.0, f32, (4, 2)), z)

    only_block(k, 0, first, second)
    for found in problems(k.finish(), [np.zeros((6, 6), np.float32)], (2,)):
        (text,) = found
        assert "two blocks write z[2, 0]" in text
        assert "block (0, 0, 0) at kernel.py:5:1: z.store(a)" in text
        assert "block (1, 0, 0) at kernel.py:9:1: z.store(b)" in text


def test_many_clashes_of_the_same_ops_are_told_once():
    k = Kernel()
    z = k.output("z", f32, 1)
    k.line(3)
    k.store(k.constant(1.0, f32, (8,)), z)
    for found in problems(k.finish(), [np.zeros(8, np.float32)], (10,)):
        assert len(found) == 1
        assert "z[0]" in found[0] and found[0].count("kernel.py:3:1") == 2


def test_disjoint_blocks_are_silent():
    k = Kernel()
    z = k.output("z", f32, 1)
    mine = k.load(z, (4,), k.block_id())
    k.store(k.emit("addf", mine, mine), z, k.block_id())
    assert set(problems(k.finish(), [np.ones(15, np.float32)], (4,))) == {()}


def test_one_block_may_write_twice_and_read_what_it_wrote():
    k = Kernel()
    z = k.output("z", f32, 1)
    for value in (1.0, 2.0):
        k.store(k.constant(value, f32, (4,)), z, k.block_id())
        k.load(z, (4,), k.block_id())
    assert set(problems(k.finish(), [np.ones(8, np.float32)], (2,))) == {()}


def test_a_block_reading_what_another_writes_is_found_in_any_order():
    k = Kernel()
    z = k.output("z", f32, 1)

    def write():
        k.line(4, "z.store(t)")
        k.store(k.constant(1.0, f32, (2,)), z)

    def read():
        k.line(8, "u = z.load()")
        k.load(z, (4,))

    only_block(k, 1, write, read)
    for found in problems(k.finish(), [np.zeros(4, np.float32)], (3,)):
        (text,) = found
        assert "one block reads what another writes, z[0]" in text
        assert "written by block (1, 0, 0) at kernel.py:4:1: z.store(t)" in text
        assert "at kernel.py:8:1: u = z.load()" in text


def test_a_writer_that_read_before_is_no_excuse():
    """All blocks read, one of them also writes: found whoever runs last."""
    k = Kernel()
    z = k.output("z", f32, 1)
    tile = k.load(z, (4,))
    only_block(k, 2, lambda: k.store(tile, z))
    for found in problems(k.finish(), [np.zeros(4, np.float32)], (4,)):
        assert len(found) == 1


def test_the_same_array_given_twice_is_one_memory():
    k = Kernel()
    x, z = k.tensor("x", f32, 1), k.output("z", f32, 1)
    right = k.emit("addi", k.block_id(), k.i32(1))
    k.store(k.load(x, (4,), right), z, k.block_id())
    data = np.zeros(12, np.float32)
    outcome = run(k.finish(), [data, data], (3,), seed=1)
    assert len(outcome.problems) == 1
    data = np.zeros(16, np.float32)
    assert len(run(k.finish(), [data[2:14], data[:12]], (3,), seed=1).problems) == 1
    assert run(k.finish(), [data, np.zeros(12, np.float32)], (3,)).problems == ()


@pytest.mark.parametrize("offset", [4, -1, 10_000_000, -(2**31)])
def test_pointers_outside_every_argument_are_not_followed(offset):
    k = Kernel()
    p, by, z = k.pointer("p", f32), k.scalar("by", i32), k.output("z", f32, 1)
    far = k.emit("offset", p, by)
    k.line(21, "t = tl.load(p)")
    k.store(k.emit("reshape", k.emit("load_ptr", far), shape=(1,)), z)
    k.line(22, "tl.store(p, t)")
    k.op("store_ptr", far, k.constant(3.0, f32))
    k.line(23, "tl.atomic_add(p, t)")
    k.emit("atomic_rmw", far, k.constant(3.0, f32))
    data, z = np.full(4, 5.0, np.float32), poisoned(f32, (1,))
    found = run(k.finish(), [data, offset, z], (1,)).problems
    assert data.tolist() == [5.0] * 4
    assert z.tolist() == [0.0]
    assert len(found) == 3
    for text, line, verb in zip(found, (21, 22, 23), ("reads", "writes", "updates"), strict=True):
        assert "out of bounds" in text and verb in text
        assert f"kernel.py:{line}:1" in text and "block (0, 0, 0)" in text


def test_an_element_must_be_inside_whole():
    k = Kernel()
    p = k.pointer("p", i8)
    k.emit("load_ptr", k.emit("ptr_to_ptr", k.emit("offset", p, k.i32(2)), to=i32))
    data = np.zeros(5, np.int8)
    assert len(run(k.finish(), [data], (1,)).problems) == 1
    assert run(k.finish(), [np.zeros(6, np.int8)], (1,)).problems == ()


def test_neighbouring_blocks_may_share_a_word():
    """Bytes are watched one by one once they are accessed as such."""
    k = Kernel()
    p = k.pointer("p", i32)
    byte = k.emit("offset", k.emit("ptr_to_ptr", p, to=i8), k.block_id())
    k.op("store_ptr", byte, k.constant(1, i8))
    data = np.zeros(2, np.int32)
    assert run(k.finish(), [data], (8,)).problems == ()
    assert data.tolist() == [0x01010101] * 2
    k = Kernel()
    p, z = k.pointer("p", i32), k.output("z", i32, 1)
    only_block(
        k, 0, lambda: k.store(k.constant(7, i32, (1,)), z),
        lambda: k.op(
            "store_ptr", k.emit("offset", k.emit("ptr_to_ptr", p, to=i8), k.i32(3)),
            k.constant(1, i8),
        ),
    )  # fmt: skip
    for seed in SEEDS:
        data = np.zeros(2, np.int32)
        (text,) = run(k.finish(), [data, data], (2,), seed=seed).problems
        assert "two blocks write" in text


def test_reads_of_what_nothing_has_written():
    k = Kernel()
    z, w = k.output("z", f32, 1), k.output("w", f32, 1)
    k.store(k.constant(1.0, f32, (2,)), z)
    k.load(z, (2,))
    k.line(6, "t = z.load()")
    k.load(z, (4,))
    k.load(w, (4,))
    func = k.finish()
    arrays = [np.zeros(5, np.float32), np.zeros(5, np.float32)]
    (text,) = run(func, arrays, (1,), uninitialized=frozenset({"z"})).problems
    assert "nothing has written: z[2]" in text
    assert "kernel.py:6:1: t = z.load()" in text
    assert run(func, arrays, (1,)).problems == ()
    assert len(run(func, arrays, (1,), uninitialized=frozenset({"z", "w"})).problems) == 2


@pytest.mark.parametrize(
    ("dtype", "left"), [(f32, np.nan), (i32, -1), (bool_, True)], ids=["f32", "i32", "bool"]
)
def test_what_nothing_has_written_is_poisoned(dtype, left):
    k = Kernel()
    z, w = k.output("z", dtype, 1), k.output("w", dtype, 1)
    k.store(k.constant(0, dtype, (2,)), z)
    k.store(k.constant(0, dtype, (2,)), w)
    memory = np.zeros(10, dtype.np)
    arrays = [memory[::2], np.zeros(5, dtype.np)]
    run(k.finish(), arrays, (1,), uninitialized=frozenset({"z"}))
    np.testing.assert_array_equal(arrays[0], np.array([0, 0, left, left, left], dtype.np))
    assert not memory[1::2].any(), "what is between the elements is not the parameter's"
    assert not arrays[1].any(), "this one had been written before"


def test_padding_and_guards_read_nothing():
    k = Kernel()
    z, no = k.output("z", f32, 1), k.scalar("no", bool_)
    k.load(z, (4,), 9)
    k.load(z, (4,), guard=no)
    func = k.finish()
    arguments = [np.zeros(5, np.float32), False]
    assert run(func, arguments, (1,), uninitialized=frozenset({"z"})).problems == ()


def test_atomics_read_too():
    k = Kernel()
    p = k.pointer("p", i32)
    k.emit("atomic_rmw", p, k.i32(1))
    outcome = run(k.finish(), [np.zeros(1, np.int32)], (1,), uninitialized=frozenset({"p"}))
    assert len(outcome.problems) == 1


def test_names_of_elements_follow_strides():
    k = Kernel()
    z = k.output("z", i32, 2)
    k.load(z, (1, 1), 1, 2)
    base = np.zeros((6, 8), np.int32)
    for view in (base[:3, :4], base[::-2, ::2], base[:4, :3].T, base[2:5, ::-1]):
        (text,) = run(k.finish(), [view], (1,), uninitialized=frozenset({"z"})).problems
        assert "z[1, 2]" in text


def test_memory_that_may_not_be_written():
    k = Kernel()
    p = k.pointer("p", i32)
    k.op("store_ptr", p, k.i32(1))
    k.emit("atomic_rmw", p, k.i32(1))
    data = np.zeros(1, np.int32)
    data.flags.writeable = False
    found = run(k.finish(), [data], (1,)).problems
    assert len(found) == 2
    assert all("read-only memory: p[0]" in text for text in found)
    assert data.tolist() == [0]


def mixed_kernel(**attrs):
    k = Kernel()
    p = k.pointer("p", i32)
    only_block(
        k, 0, lambda: k.emit("atomic_rmw", p, k.i32(1), **attrs),
        lambda: k.op("store_ptr", p, k.i32(5)),
    )  # fmt: skip
    return k.finish()


def test_a_plain_write_races_with_an_atomic():
    for found in problems(mixed_kernel(), [np.zeros(1, np.int32)], (2,)):
        assert len(found) == 1


def test_a_plain_write_before_an_own_atomic_still_races():
    k = Kernel()
    p = k.pointer("p", i32)
    only_block(k, 0, lambda: k.op("store_ptr", p, k.i32(5)))
    k.emit("atomic_rmw", p, k.i32(1), ordering=Ordering.RELAXED)
    for found in problems(k.finish(), [np.zeros(1, np.int32)], (2,)):
        assert len(found) == 1


def atomic_kernel(**attrs):
    k = Kernel()
    p = k.pointer("p", i32)
    k.emit("atomic_rmw", p, k.i32(1), mode=AtomicMode.ADD, **attrs)
    return k.finish()


def test_atomics_of_the_device_do_not_race_but_those_of_a_block_do():
    data = [np.zeros(1, np.int32)]
    for scope, expected in ((Scope.DEVICE, 0), (Scope.SYSTEM, 0), (Scope.TILE_BLOCK, 1)):
        func = atomic_kernel(ordering=Ordering.RELAXED, scope=scope)
        assert {len(found) for found in problems(func, data, (3,))} == {expected}


def last_block_kernel(release, acquire):
    """Each block writes its part and takes a ticket; the last one reads all parts."""
    k = Kernel()
    parts, counter, total = k.output("parts", i32, 1), k.pointer("c", i32), k.output("t", i32, 1)
    k.store(k.emit("reshape", k.block_id(), shape=(1,)), parts, k.block_id())
    one = k.i32(1)
    ticket = k.emit("atomic_rmw", counter, one, ordering=release)
    last = k.emit("cmpi", ticket, k.i32(4), predicate=Predicate.EQ)
    with k.region() as then:
        k.emit("load_ptr", counter, ordering=acquire)
        k.store(k.load(parts, (5,)), total)
        k.op("yield")
    with k.region() as otherwise:
        k.op("yield")
    k.op("if", last, regions=[then, otherwise])
    return k.finish()


def run_last_block(release, acquire, seed):
    arrays = [poisoned(i32, (5,)), np.zeros(1, np.int32), poisoned(i32, (5,))]
    outcome = run(last_block_kernel(release, acquire), arrays, (5,), seed=seed)
    assert arrays[2].tolist() == list(range(5))
    return outcome.problems


@pytest.mark.parametrize("seed", SEEDS)
def test_release_and_acquire_order_blocks(seed):
    assert run_last_block(Ordering.ACQ_REL, Ordering.WEAK, seed) == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_relaxed_atomics_order_nothing(seed):
    (text,) = run_last_block(Ordering.RELAXED, Ordering.RELAXED, seed)
    assert "one block reads what another writes" in text


def test_a_release_covers_only_what_came_before_it():
    k = Kernel()
    z, flag = k.output("z", i32, 1), k.pointer("flag", i32)

    def produce():
        k.emit("atomic_rmw", flag, k.i32(1), ordering=Ordering.RELEASE)
        k.store(k.constant(1, i32, (1,)), z)

    def consume():
        k.emit("load_ptr", flag, ordering=Ordering.ACQUIRE)
        k.load(z, (1,))

    only_block(k, 0, produce, consume)
    arguments = [np.zeros(1, np.int32), np.zeros(1, np.int32)]
    for found in problems(k.finish(), arguments, (2,)):
        assert len(found) == 1


def test_ops_without_a_place_are_named():
    k = Kernel()
    k.emit("load_ptr", k.pointer("p", i32))
    (text,) = run(k.finish(), [64], (1,)).problems
    assert text.endswith("block (0, 0, 0) at `load_ptr`")

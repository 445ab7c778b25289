"""Threads launch shared kernels on shared tensors: each launch is whole, or is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from support.together import by_all, together
from threads.kernels import add_one, added, scaled

pytestmark = pytest.mark.cpu_alone

THREADS, ROUNDS, SIZE, TILE = 8, 24, 100, 16


def zeros() -> tw.Tensor:
    return tw.zeros((SIZE,)).sync()


def poisoned() -> tw.Tensor:
    return tw.full((SIZE,), np.nan).sync()


def numbers() -> np.ndarray:
    return fresh_rng().standard_normal(SIZE).astype("f4")


def test_every_increment_that_ran_is_in_the_sum():
    z = zeros()

    def work(_):
        done = 0
        for _ in range(ROUNDS):
            try:
                add_one(z.partition_mut(TILE)).sync()
                done += 1
            except tw.BorrowError:
                pass
        return done

    done = sum(by_all(THREADS, work))
    assert done > 0
    np.testing.assert_array_equal(z.to_numpy(), np.full(SIZE, done, "f4"))


def test_readers_of_one_tensor_have_its_numbers():
    array = numbers()
    x = tw.from_numpy(array).sync()

    def work(number):
        for i in range(ROUNDS):
            out, factor = poisoned(), np.float32(number + i)
            scaled(out.partition_mut(TILE), x, float(factor)).sync()
            np.testing.assert_array_equal(out.to_numpy(), array * factor)

    by_all(THREADS, work)


def test_readers_and_a_writer_see_whole_launches():
    z = zeros()

    def write(_):
        for i in range(ROUNDS):
            try:
                scaled(z.partition_mut(TILE), ones, float(i)).sync()
            except tw.BorrowError:
                continue

    def read(_):
        for _ in range(ROUNDS):
            out = poisoned()
            try:
                scaled(out.partition_mut(TILE), z, 1.0).sync()
            except tw.BorrowError:
                continue
            assert len(np.unique(out.to_numpy())) == 1

    ones = tw.ones((SIZE,)).sync()
    by_all(THREADS, lambda number: (write if number % 4 == 0 else read)(number))


def test_views_come_and_go_while_others_borrow_all():
    """Borrows of parts, strided ones among them, end in one thread while another looks at them."""
    z = tw.zeros((SIZE, 4)).sync()

    def views(number):
        kept = []
        for i in range(ROUNDS):
            try:
                kept.append(z[:, number % 4 : number % 4 + 1])
                kept.append(z[i % SIZE :])
            except tw.BorrowError:
                continue
            if i % 5 == number % 5:
                kept.clear()

    def borrows(_):
        for _ in range(ROUNDS):
            try:
                z.borrow_mut()
                add_one(z.partition_mut((TILE, 4))).sync()
            except tw.BorrowError:
                continue

    by_all(THREADS, lambda number: (borrows if number % 4 == 0 else views)(number))
    assert len(np.unique(z.to_numpy())) == 1


def test_parts_of_one_tensor_are_written_by_all():
    z = tw.zeros((THREADS, SIZE)).sync()
    borrow = z.borrow_mut()
    rows = [borrow[i : i + 1].partition((1, TILE)) for i in range(THREADS)]

    def work(number):
        for _ in range(ROUNDS):
            add_one(rows[number]).sync()

    by_all(THREADS, work)
    np.testing.assert_array_equal(z.to_numpy(), np.full((THREADS, SIZE), ROUNDS, "f4"))


def test_one_thread_is_first_with_an_op():
    for _ in range(ROUNDS):
        z = zeros()
        op = add_one(z.partition_mut(TILE))
        results = together(*[op.sync] * THREADS)
        errors = [each for each in results if isinstance(each, Exception)]
        assert len(errors) == THREADS - 1
        assert all(isinstance(each, tw.Error) for each in errors)
        np.testing.assert_array_equal(z.to_numpy(), np.ones(SIZE, "f4"))


def test_one_thread_is_first_with_a_link():
    for _ in range(ROUNDS):
        calls = []
        op = tw.ones((SIZE,)).then(lambda x, calls=calls: (calls.append(1), tw.value(x))[1])
        results = together(*[op.sync] * THREADS)
        assert sum(not isinstance(each, Exception) for each in results) == len(calls) == 1


def test_a_shared_op_runs_once():
    for _ in range(ROUNDS):
        z = zeros()
        op = add_one(z.partition_mut(TILE)).shared()
        by_all(THREADS, lambda _, op=op: op.sync())
        np.testing.assert_array_equal(z.to_numpy(), np.ones(SIZE, "f4"))


def test_one_thread_takes_a_tensor():
    for take in (tw.move, tw.Arc, lambda z: z.partition((TILE,))):
        for _ in range(8 * ROUNDS):
            z = zeros()
            results = together(*[lambda z=z, take=take: take(z)] * THREADS)
            errors = [each for each in results if isinstance(each, Exception)]
            assert len(errors) == THREADS - 1
            assert all(isinstance(each, tw.BorrowError) for each in errors)


def test_chains_give_back_what_they_took():
    """Tensors go through ops of several threads, and to nobody else."""
    x = tw.from_numpy(numbers()).sync()
    expected = x.to_numpy() * np.float32(6)

    def work(_):
        for _ in range(ROUNDS):
            chain = scaled(tw.empty_like(x).partition(TILE), x, 2.0).out()
            chain = chain.then(lambda y: scaled(tw.empty_like(y).partition(TILE), y, 3.0).out())
            np.testing.assert_array_equal(chain.sync().to_numpy(), expected)

    by_all(THREADS, work)


def test_started_work_on_shared_streams():
    x = tw.ones((SIZE,)).sync()
    streams = list(x.device.streams())

    def work(number):
        z = zeros()
        for i in range(ROUNDS):
            z = added(z.partition(TILE), x, x).out().start_on(streams[(number + i) % len(streams)])
        np.testing.assert_array_equal(z.to_numpy(), np.full(SIZE, 2, "f4"))

    by_all(THREADS, work)


def test_futures_have_their_own_results():
    x = tw.ones((SIZE,)).sync()

    def work(number):
        ops = [
            scaled(tw.empty_like(x).partition(TILE), x, float(number * ROUNDS + i)).out()
            for i in range(ROUNDS)
        ]
        futures = [op.to_numpy().into_future() for op in ops]
        for i, future in enumerate(futures):
            expected = np.full(SIZE, number * ROUNDS + i, "f4")
            np.testing.assert_array_equal(future.result(60), expected)

    by_all(THREADS // 2, work)


def test_threads_replay_one_graph():
    z = zeros()
    graph = add_one(z.partition_mut(TILE)).graph()

    def work(_):
        for _ in range(ROUNDS):
            graph.launch().sync()

    by_all(THREADS, work)
    np.testing.assert_array_equal(z.to_numpy(), np.full(SIZE, THREADS * ROUNDS, "f4"))


def test_first_launches_come_at_once():
    """Each round has a new kernel, which all threads compile, some for another type."""
    for n in range(4):

        @tw.entry
        def fresh(z: tl.TensorMut, x: tl.Tensor) -> None:
            z.store(tl.load_tile_like(x, z) + n)  # noqa: B023 - compiled in this round

        def work(number, fresh=fresh, n=n):
            dtype = ("f4", "f8", "i4")[number % 3]
            x = np.arange(SIZE, dtype=dtype)
            z = tw.from_numpy(np.full(SIZE, 77, dtype)).sync()
            fresh(z.partition_mut(TILE), x).sync()
            np.testing.assert_array_equal(z.to_numpy(), x + np.dtype(dtype).type(n))

        by_all(THREADS, work)

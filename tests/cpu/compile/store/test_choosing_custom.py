"""Launches with a store of the user's own: found there, kept there, and never failed by it."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.dict_store import DictStore
from support.store import with_other_code
from tilewright import f32, jit_cache
from tilewright.compile import history

pytestmark = [
    pytest.mark.cpu_alone,  # a store of one's own has no kernels from a pack
    pytest.mark.usefixtures("sources_count_as_old"),
]


def launched(rng, factor=2.0, n=37):
    """Launch a kernel as another process would; why it was compiled more than once."""

    @tw.entry
    def scaled(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(tl.load_tile_like(x, z) * factor)

    x = rng.random(n, dtype=np.float32)
    z = tw.from_numpy(np.full(n, np.nan, np.float32)).sync()
    scaled(z.partition_mut((16,)), x).sync()
    np.testing.assert_array_equal(z.to_numpy(), x * np.float32(factor))
    return [each.reason for each in history(scaled.source)][1:]


def counts():
    now = jit_cache.stats()
    return now.hits, now.misses, now.puts


def test_the_second_launch_finds_it(rng):
    store = DictStore()
    with jit_cache.using(store):
        launched(rng)
        assert counts() == (0, 1, 1) and len(store.entries) == 1
        launched(rng)
        assert counts() == (1, 1, 1)
    with jit_cache.using(store):  # as in another process
        launched(rng)
        assert counts() == (1, 0, 0)


class Raises(DictStore):
    """Fails in one method, and works in the others."""

    def __init__(self, method):
        super().__init__()
        setattr(self, method, self._fail)

    def _fail(self, *given):
        raise ConnectionError("the network is down")


@pytest.mark.parametrize("method", ["get", "put", "contains"])
def test_one_that_raises_fails_no_launch(rng, method):
    with jit_cache.using(Raises(method)), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            launched(rng)
        assert jit_cache.stats().io_errors >= 1
    (warning,) = told
    assert f"Raises.{method} raised ConnectionError: the network is down" in str(warning.message)


class Damages(DictStore):
    """Gives back something else than it was given."""

    def __init__(self, damage):
        super().__init__()
        self.damage = damage

    def get(self, name):
        entry = super().get(name)
        return None if entry is None else self.damage(entry)


DAMAGES = {
    "garbage": lambda entry: b"garbage",
    "cut": lambda entry: entry[:-100],
    "zeros": lambda entry: bytes(len(entry)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_one_that_gives_back_something_else_fails_no_launch(rng, damage):
    with jit_cache.using(Damages(DAMAGES[damage])):
        for _ in range(3):
            launched(rng)
        assert counts() == (0, 3, 3)
        assert jit_cache.stats().invalid == 2


def test_entries_that_were_swapped_are_no_answer(rng):
    store = DictStore()
    with jit_cache.using(store):
        launched(rng, 2.0)
        launched(rng, 3.0)
        two, three = store.entries
        store.entries[two], store.entries[three] = store.entries[three], store.entries[two]
        launched(rng, 2.0)
        launched(rng, 3.0)
        assert counts() == (0, 4, 4)
        assert jit_cache.stats().invalid == 2


def test_code_that_the_device_refuses_is_deleted_and_compiled_again(rng):
    store = DictStore()
    with jit_cache.using(store):
        launched(rng)
        ((name, entry),) = store.entries.items()
        store.entries[name] = with_other_code(entry, name, lambda code: b"\x7fELF" + bytes(200))
        (reason,) = launched(rng)
        assert reason.startswith("cpu rejected the code")
        assert "delete" in store.asked
        assert launched(rng) == [], "the store has code that can be used again"


def test_threads_compile_once(rng):
    store, wrong = DictStore(), []

    @tw.entry
    def negated(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(-tl.load_tile_like(x, z))

    def work(start):
        x = np.arange(50, dtype=np.float32)
        z = tw.from_numpy(np.full(50, np.nan, np.float32)).sync()
        start.wait(60)
        negated(z.partition_mut((16,)), x).sync()
        if not np.array_equal(z.to_numpy(), -x):
            wrong.append(z.to_numpy())

    jit_cache.enable(store)
    try:
        start = threading.Barrier(4)
        threads = [threading.Thread(target=work, args=(start,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not wrong
        assert counts() == (0, 1, 1)
    finally:
        jit_cache.enable_default()

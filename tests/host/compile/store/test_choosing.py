"""A process chooses its store; a task or thread may choose another for a while."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import pytest

from support.dict_store import DictStore
from tilewright import jit_cache
from tilewright.base.config import override
from tilewright.base.stage import Saved
from tilewright.compile.store import Record, current_store, disk_store

RECORD, SAVED = Record.of({"kernel": "add"}), Saved({}, b"code")


@pytest.fixture(autouse=True)
def _as_before():
    yield
    jit_cache.enable_default()


def test_by_default_the_settings_choose(tmp_path):
    assert not jit_cache.is_enabled()  # the tests' own
    with override(cache_dir=str(tmp_path / "cache")):
        assert jit_cache.is_enabled()
        assert current_store() is disk_store()


def test_enabled_for_the_process_whatever_the_settings_say(tmp_path):
    store, seen = DictStore(), []
    jit_cache.enable(store)
    thread = threading.Thread(target=lambda: seen.append(current_store().put(RECORD, SAVED)))
    thread.start()
    thread.join(60)
    assert seen == [True] and set(store.entries) == {RECORD.name}
    with override(cache_dir=str(tmp_path / "cache")):
        assert current_store().place == "DictStore"
        assert disk_store().root == tmp_path / "cache"
        jit_cache.enable_default()
        assert current_store() is disk_store()


def test_disabled_and_enabled_again(tmp_path):
    with override(cache_dir=str(tmp_path / "cache")):
        for _ in range(2):
            jit_cache.disable()
            assert not jit_cache.is_enabled()
            assert jit_cache.stats() == jit_cache.Stats()
            jit_cache.clear()  # of nothing
            jit_cache.enable_default()
            assert jit_cache.is_enabled()


def test_counts_are_of_the_store_in_use_since_it_is():
    jit_cache.enable(DictStore())
    current_store().put(RECORD, SAVED)
    assert jit_cache.stats().puts == 1
    with jit_cache.using(DictStore()):
        assert jit_cache.stats().puts == 0
    assert jit_cache.stats().puts == 1


def test_a_block_is_for_its_own_thread(tmp_path):
    seen = []
    with jit_cache.using(DictStore()):
        thread = threading.Thread(target=lambda: seen.append(jit_cache.is_enabled()))
        thread.start()
        thread.join(60)
        assert jit_cache.is_enabled()
    assert seen == [False]
    assert not jit_cache.is_enabled()


def test_a_block_is_for_its_own_task():
    async def places():
        async def one(store):
            with jit_cache.using(store):
                await asyncio.sleep(0)
                return current_store().place if jit_cache.is_enabled() else "nowhere"

        return await asyncio.gather(one(DictStore()), one(None))

    assert asyncio.run(places()) == ["DictStore", "nowhere"]


def test_blocks_nest_and_end_with_errors():
    jit_cache.enable(DictStore())
    with jit_cache.using(None):
        assert not jit_cache.is_enabled()
        with suppress(ZeroDivisionError), jit_cache.using(DictStore()):
            assert jit_cache.is_enabled()
            raise ZeroDivisionError
        assert not jit_cache.is_enabled()
    assert jit_cache.is_enabled()


def test_clear_clears_the_store_in_use(tmp_path):
    store = DictStore()
    with override(cache_dir=str(tmp_path / "cache")):
        disk_store().put(RECORD, SAVED)
        with jit_cache.using(store):
            current_store().put(RECORD, SAVED)
            jit_cache.clear()
        assert store.entries == {} and len(disk_store().entries()) == 1
        jit_cache.clear()
        assert disk_store().entries() == ()


def test_what_is_no_store_changes_nothing():
    for refused in (jit_cache.enable, lambda store: jit_cache.using(store).__enter__()):
        with pytest.raises(TypeError, match="is no JitStore"):
            refused({})
        assert not jit_cache.is_enabled()

"""The settings say which store is used, or that none is."""

from __future__ import annotations

import os
import subprocess
import sys

from tilewright.base.config import override
from tilewright.base.stage import Saved
from tilewright.compile.store import Record, Stats, current_store, stats


def test_off(tmp_path):
    with override(cache_dir="off"):
        assert current_store() is None
        assert stats() == Stats()
    with override(cache_dir=str(tmp_path / "cache"), cache_size=0):
        assert current_store() is None
    assert list(tmp_path.iterdir()) == []


def test_a_directory_and_a_size(tmp_path):
    with override(cache_dir=str(tmp_path / "cache"), cache_size=12345):
        store = current_store()
        assert (store.root, store.capacity) == (tmp_path / "cache", 12345)
        assert current_store() is store
        store.put(Record.of({"kernel": "x"}), Saved({}, b"code"))
        assert stats().puts == 1
    with override(cache_dir=str(tmp_path / "other")):
        assert stats() == Stats()


def test_tests_do_not_touch_the_cache_of_whoever_runs_them():
    assert current_store() is None


def test_the_default_is_in_the_home_directory(tmp_path):
    code = (
        "from tilewright.compile.store import Record, current_store\n"
        "from tilewright.base.stage import Saved\n"
        "store = current_store()\n"
        "assert store.capacity == 1 << 30\n"
        "assert store.put(Record.of({'kernel': 'x'}), Saved({}, b'code'))\n"
    )
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("TILEWRIGHT_", "XDG_"))}
    paths = os.pathsep.join(filter(None, sys.path))
    for extra, place in (
        ({}, tmp_path / ".cache"),
        ({"XDG_CACHE_HOME": "relative"}, tmp_path / ".cache"),
        ({"XDG_CACHE_HOME": str(tmp_path / "xdg")}, tmp_path / "xdg"),
    ):
        environment = {**plain, "HOME": str(tmp_path), "PYTHONPATH": paths, **extra}
        subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, check=True)
        assert len(list((place / "tilewright").rglob("*.tw"))) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == [".cache", "xdg"]

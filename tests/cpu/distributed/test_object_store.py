"""Compiled code shared through fsspec: compiled by one process of many, and signed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT
from tilewright import f32
from tilewright.distributed import ObjectStore

pytest.importorskip("fsspec")
NAME = "ab" * 32

PROGRAM = """
import sys, time
import tilewright as tw, tilewright.lang as tl
from tilewright import f32
@tw.entry
def triple(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) * 3.0)
if sys.argv[1]:
    store = tw.distributed.ObjectStore(sys.argv[1], key=b"secret", patience=float(sys.argv[2]))
    tw.jit_cache.enable(store)
if "stuck" in sys.argv:
    from tilewright.compile.store.choosing import Custom
    from tilewright.compile.store.disk import Store
    def stuck(*given):
        print("stuck", flush=True)
        time.sleep(1000)
    Custom.put = Store.put = stuck
x = tw.asarray(__import__("numpy").ones(5, "f4"))
out = triple(tw.empty((5,)).partition((4,)), x).out().sync().to_numpy()
assert (out == 3).all()
print(tw.jit_cache.stats().puts)
"""


@pytest.fixture
def store(tmp_path):
    return ObjectStore(f"file://{tmp_path}/kernels", key=b"secret", patience=1.0)


def test_entries_come_and_go(store):
    assert store.get(NAME) is None and not store.contains(NAME)
    store.put(NAME, b"code")
    assert store.get(NAME) == b"code" and store.contains(NAME)
    store.put(NAME, b"other")
    assert store.get(NAME) == b"other"
    store.delete(NAME)
    store.delete(NAME)
    assert store.get(NAME) is None
    store.put(NAME, b"code")
    store.clear()
    assert store.get(NAME) is None


def test_what_was_not_signed_with_the_key_is_not_there(store, tmp_path):
    other = ObjectStore(f"file://{tmp_path}/kernels", key=b"other")
    other.put(NAME, b"code")
    assert store.get(NAME) is None
    store.put(NAME, b"code")
    path = tmp_path / "kernels" / f"{NAME}.tw"
    data = bytearray(path.read_bytes())
    for place in (0, 31, 32, len(data) - 1):
        damaged = bytearray(data)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        assert store.get(NAME) is None
    for length in (0, 5, 32):
        path.write_bytes(data[:length])
        assert store.get(NAME) is None
    path.write_bytes(data)
    path.rename(path.with_name("cd" * 32 + ".tw"))  # of another name
    assert store.get("cd" * 32) is None


def test_a_lease_is_waited_for_and_abandoned_ones_are_not_kept(store, tmp_path):
    with store.alone(NAME):
        began = time.monotonic()
        with store.alone(NAME):  # after its patience
            assert time.monotonic() - began >= 1.0
    assert not list((tmp_path / "kernels").iterdir())
    with store.alone(NAME):
        store.put(NAME, b"code")
        began = time.monotonic()
        with store.alone(NAME):  # the entry has come
            assert time.monotonic() - began < 1.0


def test_a_kernel_is_taken_from_the_store(store):
    @tw.entry
    def scale(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(tl.load_tile_like(x, out) * 7.0)

    def run(kernel):
        x = tw.ones((4,)).sync()
        return kernel(tw.empty((4,)).partition((4,)), x).out().sync().to_numpy()

    with tw.jit_cache.using(store):
        assert (run(scale) == 7).all()
        assert tw.jit_cache.stats().puts > 0
        again = tw.entry(scale.__wrapped__)
        assert (run(again) == 7).all()
        assert tw.jit_cache.stats().hits > 0


def test_a_store_that_fails_fails_no_launch(store, monkeypatch):
    def fail(*given):
        raise OSError("no route to the store")

    for name in ("get", "put", "contains", "alone"):
        monkeypatch.setattr(store, name, fail)

    @tw.entry
    def scale(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(tl.load_tile_like(x, out) * 9.0)

    x = tw.asarray(np.ones(4, np.float32))
    with tw.jit_cache.using(store):
        op = scale(tw.empty((4,)).partition((4,)), x).out()
        with pytest.warns(RuntimeWarning, match="no route to the store"):
            out = op.sync()
        assert (out.to_numpy() == 9).all()
        assert tw.jit_cache.stats().io_errors > 0


def start(folder: Path, url: str, *more: str, patience: float = 120, **settings: str) -> Any:
    """Start the program in a process."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"), "TILEWRIGHT_NUM_THREADS": "1", **settings,
    }  # fmt: skip
    program = folder / "program.py"
    if not program.exists():  # others read it already
        program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, str(program), url, str(patience), *more]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def compilations(started: list[Any]) -> list[int]:
    """How many entries each of some processes has made."""
    found = [each.communicate(timeout=200)[0] for each in started]
    assert all(each.returncode == 0 for each in started)
    return [int(out) for out in found]


def check_one_compiled(made: list[int]) -> None:
    assert sum(made) == max(made) > 0, f"entries made by each process: {made}"


def place_of(kind: str, folder: Path) -> tuple[str, dict[str, str]]:
    """Where processes share code: an URL, and the setting of the directory."""
    if kind == "objects":
        return f"file://{folder}/kernels", {"TILEWRIGHT_CACHE_DIR": "off"}
    return "", {"TILEWRIGHT_CACHE_DIR": str(folder / "cache")}


def test_of_three_processes_one_compiles(tmp_path):
    url, settings = place_of("objects", tmp_path)
    check_one_compiled(compilations([start(tmp_path, url, **settings) for _ in range(3)]))


KINDS = pytest.mark.parametrize("kind", ["objects", "directory"])


@pytest.mark.full
@KINDS
def test_of_sixteen_processes_one_compiles(tmp_path, kind):
    url, settings = place_of(kind, tmp_path)
    check_one_compiled(compilations([start(tmp_path, url, **settings) for _ in range(16)]))


@pytest.mark.full
@KINDS
def test_where_the_process_that_compiles_is_killed_another_one_does(tmp_path, kind):
    """Fifteen wait for it; of these one compiles, and the others wait for that one."""
    url, settings = place_of(kind, tmp_path)
    first = start(tmp_path, url, "stuck", **settings)
    assert first.stdout.readline() == "stuck\n"
    others = [start(tmp_path, url, patience=8, **settings) for _ in range(15)]
    time.sleep(5)
    assert all(each.poll() is None for each in others), "they wait"
    first.kill()
    first.communicate()
    check_one_compiled(compilations(others))


@pytest.mark.full
def test_who_takes_over_an_abandoned_lease_is_waited_for(tmp_path):
    """Of two that wait for a lease that nobody ends, one takes it over; the other waits anew."""
    url = f"file://{tmp_path}/kernels"
    stores = [ObjectStore(url, patience=3.0) for _ in range(2)]
    (tmp_path / "kernels" / f"{NAME}.lease").write_bytes(b"of a process that was killed")
    holding, most, lock = 0, 0, threading.Lock()

    def compile_in(store: ObjectStore) -> None:
        nonlocal holding, most
        with store.alone(NAME):
            if store.contains(NAME):
                return
            with lock:
                holding += 1
                most = max(most, holding)
            time.sleep(2.4)  # longer than what is left of the patience of the other
            store.put(NAME, b"code")
            with lock:
                holding -= 1

    threads = [threading.Thread(target=compile_in, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
        time.sleep(1)
    for thread in threads:
        thread.join(20)
    assert most == 1
    assert not [each for each in (tmp_path / "kernels").iterdir() if each.suffix == ".lease"]

"""A kernel whose code is on disk is not compiled: whole launches, in this process and in others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT
from tilewright import LaunchError, f32
from tilewright.backend.llvm import object as native_code
from tilewright.backend.llvm.object import host_target
from tilewright.base import files
from tilewright.base.config import override
from tilewright.compile.pipeline import compile_kernel
from tilewright.compile.runner import Runner
from tilewright.compile.store import Store, current_store
from tilewright.launch.inspection import Inspection

pytestmark = pytest.mark.usefixtures("sources_count_as_old")


@pytest.fixture
def store(tmp_path):
    with override(cache_dir=str(tmp_path / "cache")):
        yield current_store()


def fresh():
    """A kernel as a new process sees it: nothing is compiled yet."""

    @tw.entry
    def soft(z: tl.TensorMut[f32], x: tl.Tensor[f32], shift: f32) -> None:
        tile = tl.load_tile_like(x, z, padding=tl.neg_inf)
        p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
        z.store(p / tl.reduce_sum(p, 1, keepdims=True) + shift)

    return soft


def launched(kernel, rows=13, columns=17):
    x = np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32)
    z = tw.from_numpy(np.full((rows, columns), np.nan, np.float32)).sync()  # needs no kernel
    kernel(z.partition_mut((4, 32)), x, 1.0).sync()
    p = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(z.to_numpy(), p / p.sum(1, keepdims=True) + 1, rtol=1e-5)
    return z.to_numpy()


def compiled(kernel, store):
    """The artifact, and the steps that were needed for it."""
    args = (tw.meta((64, 64), f32).partition_mut((4, 32)), tw.meta((64, 64), f32), 1.0)
    signature = Inspection(kernel.kernel, args, {}).signature
    run = Runner(kernel.__name__, store=store)
    artifact, _ = compile_kernel(kernel.source, signature, "cpu", run)
    return artifact, run.times


def counts(store):
    return store.stats.hits, store.stats.misses, store.stats.puts


def test_the_second_kernel_is_found(store):
    first = launched(fresh())
    assert counts(store) == (0, 1, 1)
    second = launched(fresh())
    assert counts(store) == (1, 1, 1)
    np.testing.assert_array_equal(first, second)


def test_a_hit_skips_the_backend_and_gives_the_same(store):
    made, steps = compiled(fresh(), store)
    found, fewer = compiled(fresh(), store)
    assert set(steps) - set(fewer) == {"plan", "llvm", "object"}
    assert found == made
    assert found.code is not made.code


def test_a_hit_is_quick(store):
    compiled(fresh(), store)
    quickest = min(compiled(fresh(), store)[1]["disk"] for _ in range(10))
    assert quickest < 0.005


def test_off():
    with override(cache_dir="off"):
        assert current_store() is None
        launched(fresh())


def test_other_features_are_another_entry(store, monkeypatch):
    compiled(fresh(), store)
    name, features, triple = native_code._host()
    monkeypatch.setattr(native_code, "_host", lambda: (name, f"{features},-fma4", triple))
    compiled(fresh(), store)
    assert counts(store) == (0, 2, 2)
    monkeypatch.undo()
    monkeypatch.setattr(files, "IMPORTED", float("inf"))
    compiled(fresh(), store)
    assert counts(store) == (1, 2, 2)


def test_another_scratch_limit_is_another_entry(store):
    compiled(fresh(), store)
    with override(scratch_limit=host_target().scratch_limit // 2):
        compiled(fresh(), store)
    assert counts(store) == (0, 2, 2)


def test_other_sources_are_another_entry(store, monkeypatch):
    compiled(fresh(), store)
    monkeypatch.setattr(native_code, "source_hash", lambda *folders: "0" * 64)
    native_code._fixed.cache_clear()
    compiled(fresh(), store)
    assert counts(store) == (0, 2, 2)


def test_changed_constants_are_not_mixed_up(store):
    def kernel(number):
        @tw.entry
        def fill(z: tl.TensorMut[f32]) -> None:
            z.store(tl.full(z.shape, number, f32))

        return fill

    for _ in range(2):
        for number in (0.0, -0.0, 1.0, float("inf")):
            z = tw.from_numpy(np.full(5, 7.0, np.float32)).sync()
            kernel(number)(z.partition_mut((4,))).sync()
            expected = np.full(5, number, np.float32)
            np.testing.assert_array_equal(z.to_numpy().view(np.uint32), expected.view(np.uint32))
    assert counts(store) == (4, 4, 4)


@pytest.mark.parametrize("damage", ["truncate", "flip", "swap", "foreign"])
def test_a_damaged_entry_is_compiled_again(store, damage):
    launched(fresh())
    (entry,) = store.entries()
    path = store.root / entry.path
    data = bytearray(path.read_bytes())
    if damage == "truncate":
        del data[-100:]
    elif damage == "flip":
        data[-len(data) // 4] ^= 0x10
    elif damage == "foreign":
        data[:] = b"\x7fELF" + bytes(500)
    else:
        with override(cache_dir=str(store.root / "other")):
            compiled(another(), current_store())
            (other,) = current_store().entries()
            data = (current_store().root / other.path).read_bytes()
    path.write_bytes(data)
    launched(fresh())
    assert counts(store) == (0, 2, 2)
    assert store.stats.invalid == 1
    launched(fresh())
    assert counts(store) == (1, 2, 2)


def another():
    @tw.entry
    def soft(z: tl.TensorMut[f32], x: tl.Tensor[f32], shift: f32) -> None:
        z.store(tl.load_tile_like(x, z) + shift)

    return soft


def test_a_directory_open_to_others_is_not_used(store):
    launched(fresh())
    store.root.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="not cached on disk"):
        launched(fresh())
    launched(fresh())
    assert store.stats.hits == 0
    store.root.chmod(0o700)


CHECKED = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

@tw.entry
def total(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, z)
    assert tl.reduce_sum(tile, 0) >= 0.0, "less than nothing"
    z.store(tl.exp(tile) + tl.reduce_sum(tile, 0))
"""


def test_errors_point_at_the_kernel_at_hand(store):
    """The same code from another place: places come from the source, never from the disk."""
    lines, decisions = [], []
    for moved in (0, 7):
        kernel = tw.exec("\n" * moved + CHECKED)["total"]
        z = tw.zeros((6,)).sync()
        with pytest.raises(LaunchError, match="less than nothing") as caught:
            kernel(z.partition_mut((4,)), np.array([1, 1, 1, 1, -1, 0], np.float32)).sync()
        lines.append(caught.value.span.line)
        decisions.append(kernel.explain(z.partition_mut((4,)), z))
    assert counts(store) == (1, 1, 1)
    assert lines[1] == lines[0] + 7
    places = [re.findall(r"<tilewright source (\d+)>:(\d+):", text) for text in decisions]
    assert places[0]
    assert [int(line) + 7 for _, line in places[0]] == [int(line) for _, line in places[1]]
    assert {file for file, _ in places[0]}.isdisjoint(file for file, _ in places[1])


def test_processes_share(tmp_path):
    """Two processes at once compile once; a third finds what they left."""
    script = tmp_path / "kernel_file.py"
    script.write_text(PROGRAM)
    begin = time.time() + 3.0
    both = [started(script, tmp_path, begin) for _ in range(2)]
    results = [finished(p) for p in both] + [finished(started(script, tmp_path, 0.0))]
    assert sorted(results[:2]) == ["0 1 1", "1 0 0"]
    assert results[2] == "1 0 0"
    store = Store(tmp_path / "cache", 1 << 30)
    assert len(store.entries()) == 1
    assert store.verify() == {}


def started(script, tmp_path, begin):
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)])
    environment = {
        **os.environ, "PYTHONPATH": paths, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"),
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, str(script), str(begin)],
        env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def finished(process):
    with process:
        return process.stdout.read().strip()


PROGRAM = """
import sys, time
import numpy as np
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.base import files
from tilewright.compile.store import stats

files.IMPORTED = float("inf")

@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + 1.0)

x = np.arange(100, dtype=np.float32)
z = tw.zeros((100,)).sync()
time.sleep(max(0.0, float(sys.argv[1]) - time.time()))
add(z.partition_mut((16,)), x).sync()
assert np.array_equal(z.to_numpy(), x + 1)
print(stats().hits, stats().misses, stats().puts)
"""

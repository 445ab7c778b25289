"""Cubins are kept on disk, named by their bytecode: found by any process, on any machine."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT
from support.cuda import cuda_ir, lowered
from support.fake_cuda import FakeCuda
from support.store import swap_code
from tilewright.backend.tileir import lowered as lowering
from tilewright.backend.tileir import selection
from tilewright.backend.tileir import stages as tileir
from tilewright.backend.tileir.toolchain import description
from tilewright.base.config import override
from tilewright.base.errors import CompileError, DriverError
from tilewright.base.stage import Saved
from tilewright.compile import history
from tilewright.compile.store import Record, Store, current_store
from tilewright.devices import registry
from tilewright.devices.cuda.device import CudaDevice


def fresh():
    """The same kernel, never compiled before in this process."""

    @tw.entry
    def softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
        assert out.shape[1] >= x.shape[1]
        tile = tl.load_tile_like(x, out, padding=tl.neg_inf)
        p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
        out.store(p / tl.reduce_sum(p, 1, keepdims=True))

    return softmax


def made(arch="sm_90", **options):
    z = tw.meta((1000, 512))
    chosen = tw.CompileOptions(**options)
    return fresh().compile_for(arch, z.partition_mut((2, 512)), z, options=chosen)


@pytest.fixture
def store(tool, tmp_path):
    with override(cache_dir=str(tmp_path / "cache")):
        yield current_store()


def counts(store):
    return store.stats.hits, store.stats.misses, store.stats.puts


def test_the_second_time_nothing_is_assembled(store, monkeypatch):
    first = made()
    monkeypatch.setattr(selection, "attempt", None)
    second = made()
    assert first.code == second.code and first.decisions == second.decisions
    assert counts(store) == (1, 1, 1)


def test_architecture_and_hints_are_part_of_the_name(store):
    made(), made("sm_80"), made(occupancy=2)
    assert counts(store) == (0, 3, 3)


def test_lines_are_part_of_the_name_where_the_cubin_names_them(store):
    made()
    with override(line_info=True):
        made()
    assert counts(store) == (0, 2, 2)


def test_neither_python_nor_our_sources_are(store):
    """What was compiled here is found by another Python with other libraries."""
    made()
    facts = store.facts(store.entries()[0].name)
    assert set(facts) == {
        "format", "made", "kernel", "arch", "version", "bytecode", "lines", "selection",
        "tileiras",
    }  # fmt: skip


def test_the_cubin_of_another_architecture_is_a_miss(store):
    """Even under the right name, with all checksums right."""
    other = made("sm_80")
    made()
    entry = next(f for f in store.entries() if store.facts(f.name)["arch"] == "sm_90")
    record = Record.of({k: v for k, v in store.facts(entry.name).items() if k != "format"})
    assert record.name == entry.name
    for code in (other.code, b"\x7fELF", b"junk"):
        store.put(record, Saved({"symbol": "softmax", "arch": "sm_90"}, code))
        invalid = store.stats.invalid
        assert made().code[:4] == b"\x7fELF"
        assert store.stats.invalid == invalid + 1


def test_a_description_of_the_assembler_is_enough(store, tool, tmp_path):
    """A cache taken along is used where tileiras is not."""
    first = made()
    elsewhere = tmp_path / "tileiras.json"
    elsewhere.write_text(description(tool))
    with override(tileiras_path=str(elsewhere)):
        assert made().code == first.code
        with pytest.raises(CompileError, match="not compiled ahead of time") as caught:
            made(occupancy=3)
    assert "softmax" in str(caught.value) and caught.value.span is not None


PROGRAM = """
import json, sys
import tilewright as tw
import tilewright.lang as tl
from tilewright.compile.store import stats

@tw.entry
def softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    out.store(p / tl.reduce_sum(p, 1, keepdims=True))

z = tw.meta((1000, 512))
print("ready", flush=True)
sys.stdin.readline()
softmax.compile_for("sm_90", z.partition_mut((4, 512)), z)
found = stats()
print(json.dumps([found.hits, found.misses, found.puts]))
"""


def test_processes_that_start_together_assemble_once(tool, tmp_path):
    script = tmp_path / "kernel_file.py"
    script.write_text(PROGRAM)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)]),
        "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, str(script)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    found = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    assert sorted(found) == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert Store(tmp_path / "cache", 1 << 30).verify() == {}


@pytest.mark.parametrize("wrong", [{}, {"symbol": "softmax"}, {"symbol": 3, "arch": "sm_90"}])
def test_metadata_is_looked_at(store, wrong):
    code = made().code
    with pytest.raises(ValueError, match=r"not the code|another architecture"):
        lowering.restore(_lowered(), Saved(wrong, code), tileir.again)


def _lowered():
    z = tw.meta((1000, 512))
    return lowered(cuda_ir(fresh(), z.partition_mut((2, 512)), z))


def _truncated(data):
    return data[:-100]


def _flipped(data):
    changed = bytearray(data)
    changed[len(data) * 3 // 4] ^= 0x10
    return bytes(changed)


def _foreign(data):
    return b"\x7fELF" + bytes(500)


@pytest.mark.parametrize("damage", [_truncated, _flipped, _foreign])
def test_a_damaged_cubin_is_assembled_again(store, damage):
    first = made().code
    (entry,) = store.entries()
    path = store.root / entry.path
    path.write_bytes(damage(path.read_bytes()))
    assert made().code == first
    assert counts(store) == (0, 2, 2) and store.stats.invalid == 1
    assert made().code == first
    assert counts(store) == (1, 2, 2)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES])
def test_a_disk_in_trouble_fails_no_compilation(store, monkeypatch, code):
    def refuse(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.warns(RuntimeWarning, match=f"not cached on disk: .*{os.strerror(code)}"):
        assert made().code[:4] == b"\x7fELF"
    assert store.entries() == () and store.stats.io_errors == 1
    assert not list(store.root.rglob("*.tmp"))


def test_a_cache_where_no_directory_can_be(tool, tmp_path):
    (tmp_path / "file").write_text("")
    with (
        override(cache_dir=str(tmp_path / "file" / "cache")),
        pytest.warns(RuntimeWarning, match="not cached on disk"),
    ):
        assert made().code[:4] == b"\x7fELF"


@pytest.fixture
def launched(monkeypatch, tmp_path):
    """Launches the kernel as another process would, on a driver in Python; why it compiled."""
    fake = FakeCuda()
    fake.kernels["softmax"] = lambda values, grid: None
    monkeypatch.setattr(registry._Gpus, "found", (CudaDevice(fake, 0),))

    def launch():
        kernel, z = fresh(), tw.zeros((8, 64), device="cuda").sync()
        try:
            kernel(z.partition_mut((1, 64)), tw.zeros((8, 64), device="cuda").sync()).sync()
        finally:
            reasons.append([each.reason for each in history(kernel.source)][1:])

    reasons = []
    with override(cache_dir=str(tmp_path / "cache")):
        yield fake, launch, reasons


def test_a_cubin_from_the_disk_that_the_driver_refuses_is_compiled_again(tool, launched):
    fake, launch, reasons = launched
    launch()
    assert swap_code(current_store(), lambda code: code + b"more") == 1
    fake.fail("load_module", 200)
    launch()
    launch()
    refused = "cuda:0 rejected the code: the CUDA driver rejected load_module"
    assert reasons == [[], [refused], []]


def test_what_the_driver_refuses_though_it_is_new_is_an_error(tool, launched):
    fake, launch, reasons = launched
    fake.fail("load_module", 209)
    with pytest.raises(DriverError, match="compiled for another architecture"):
        launch()
    launch()
    assert len(reasons[0]) == 1, "it was tried once more"
    assert reasons[1] == []

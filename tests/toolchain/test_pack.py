"""A pack taken along: what tests launch here is found there, without an assembler."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright as tw
from source_tree import ROOT
from tilewright.base.config import override
from tilewright.base.errors import CompileError
from tilewright.compile.store.disk import Store

KERNELS = """
import tilewright as tw
import tilewright.lang as tl

@tw.entry
def scale(z: tl.TensorMut, x: tl.Tensor, a: tw.f32) -> None:
    z.store(tl.load_tile_like(x, z) * a)

@tw.entry
def narrow(z: tl.TensorMut[tw.f8e8m0fnu], x: tl.Tensor[tw.f8e8m0fnu]) -> None:
    z.store(tl.load_tile_like(x, z))
"""
TESTS = """
import ml_dtypes
import numpy as np
import tilewright as tw
from pack_kernels import scale, narrow

def test_scale():
    for tile in (8, 8, 16):
        z = tw.zeros((100,)).sync()
        scale(z.partition_mut((tile,)), np.ones(100, np.float32), 2.0).sync()

def test_narrow():
    x = tw.from_numpy(np.ones(64, ml_dtypes.float8_e8m0fnu)).sync()
    narrow(tw.empty((64,), tw.f8e8m0fnu).sync().partition_mut((8,)), x).sync()

def test_that_fails_after_a_launch():
    z = tw.zeros((100,)).sync()
    scale(z.partition_mut((32,)), np.ones(100, np.float32), 2.0).sync()
    assert False
"""


def test_kernels_are_packed_and_found(tool, tmp_path):
    (tmp_path / "pack_kernels.py").write_text(KERNELS)
    (tmp_path / "conftest.py").write_text(f"import sys; sys.path.insert(0, {str(tmp_path)!r})")
    tests = tmp_path / "test_pack_me.py"
    tests.write_text(TESTS)
    pack = tmp_path / "pack"
    command = [sys.executable, str(ROOT / "tools" / "gpu_pack.py"), str(pack), str(tests)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "MB in" in done.stdout
    entries = {f"cache/{path.parent.name}/{path.name}" for path in pack.rglob("*.tw")}
    there = tmp_path / "there"
    command = [*command[:2], str(there), "--unpack", str(tmp_path / "pack.xz")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in (*entries, "tileiras.json"):
        assert (there / name).read_bytes() == (pack / name).read_bytes()
    assert len(list(there.rglob("*.tw"))) == len(entries)
    assert len(entries) >= 3, "and none for this processor"
    assert {Store(pack / "cache", 1 << 30).facts(Path(e).stem)["made"] for e in entries} == {
        "cubin"
    }
    manifest = json.loads((pack / "manifest.json").read_text())
    kernels = [k for k in manifest["groups"][str(tests)] if k["place"].startswith("pack_kernels")]
    assert [k["kernel"] for k in kernels] == ["narrow", "scale", "scale", "scale"]
    assert "not-on-this-target" in kernels[0]["refused"]
    assert all(k["nbytes"] > 0 and not k["refused"] for k in kernels[1:])
    # Another process, another kernel object, no assembler.
    scale = tw.exec(KERNELS)["scale"]
    z = tw.meta((100,))
    with override(cache_dir=str(there / "cache"), tileiras_path=str(there / "tileiras.json")):
        for tile in (8, 16, 32):
            assert scale.compile_for("sm_90", z.partition_mut((tile,)), z, 1.0).code[:4] == (
                b"\x7fELF"
            )
        with pytest.raises(CompileError, match="not compiled ahead of time"):
            scale.compile_for("sm_90", z.partition_mut((64,)), z, 1.0)

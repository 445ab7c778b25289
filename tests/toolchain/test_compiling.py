"""`tilewright compile`: which kernels, to which files, kept where."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.base.config import override
from tilewright.tools.command import main

MIXED = """
import numpy as np
import tilewright as tw
import tilewright.lang as tl
from tilewright import simt

@tw.entry
def bad(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))

@tw.entry
def twice(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * 2.0)

@simt.kernel
def once(z: simt.DisjointSlice[tw.f32], x: simt.Slice[tw.f32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = x[i]

for n in (64, 65, 66):  # of odd lengths the code is the same
    z, x = tw.zeros((n,)).sync(), tw.asarray(np.ones(n, np.float32))
    twice(z.partition_mut((64,)), x).sync()
    once(z.borrow_mut(), x).sync()
try:
    bad(z.partition_mut((64,)), np.ones((8, 8), "f4")).sync()
except tw.CompileError:
    print("caught")
"""


@pytest.mark.parametrize("words", [[], ["--export"]])
def test_a_program_of_tile_and_simt_kernels_to_a_folder(tool, tmp_path, capsys, words):
    """One that catches an error of its own; what is alike is written once."""
    path, out = tmp_path / "kernels.py", tmp_path / "out"
    path.write_text(MIXED)
    assert (
        main(["compile", str(path), "--launched", "--arch", "sm_90", "-o", str(out), *words]) == 0
    )
    said = capsys.readouterr()
    assert "left out: a launch of bad" in said.err
    codes = [p for p in out.iterdir() if p.suffix in (".cubin", ".ptx")]
    assert {p.name.partition(".")[0].partition("_")[0] for p in codes} == {"twice", "once"}
    assert [p.name for p in codes if p.suffix == ".ptx"] == ["once.ptx"]
    assert len(said.out.splitlines()) == 1 + len(codes), "a row for each"
    alike = [(p.read_bytes(), _promises(p.with_suffix(".h"))) for p in codes]
    assert len(set(alike)) == len(alike)
    assert bool(words) == (out / "once.h").exists()


def _promises(header):
    """What a header asks of arguments; its names are its own."""
    if not header.exists():
        return ""
    return header.read_text().replace("twice_2", "twice").replace("TWICE_2", "TWICE")


FILE = """
import tilewright as tw
import tilewright.lang as tl

@tw.entry
def scale(z: tl.TensorMut, x: tl.Tensor, a: tw.f32) -> None:
    z.store(tl.load_tile_like(x, z) * a)

t = tw.meta((64, 64))
scale.declare(t.partition_mut((8, 8)), t, 1.0)
scale.declare(t.partition_mut((16, 16)), t, 1.0)
"""


def test_from_the_command_line(tool, tmp_path, capsys):
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    out = tmp_path / "out"
    assert main(["compile", str(path), "--arch", "sm_90", "-o", str(out), "--export"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split()[0] == "KERNEL" and [r.split()[:2] for r in rows[1:]] == [
        ["scale", "sm_90"], ["scale", "sm_90"],
    ]  # fmt: skip
    assert sorted(p.name for p in out.iterdir()) == sorted(
        f"{stem}{suffix}" for stem in ("scale", "scale_2")
        for suffix in (".cubin", ".h", ".json", ".tileirbc")
    )  # fmt: skip
    both = ["--arch", "sm_90", "--arch", "sm_100"]
    assert main(["compile", str(path), *both, "-o", str(tmp_path / "two")]) == 0
    assert sorted(p.name for p in (tmp_path / "two").iterdir()) == [
        "scale_sm_100.cubin", "scale_sm_100_2.cubin", "scale_sm_90.cubin", "scale_sm_90_2.cubin",
    ]  # fmt: skip


def test_without_a_folder_the_cache_is_filled(tool, tmp_path, capsys):
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    with override(cache_dir=str(tmp_path / "cache")):
        assert main(["compile", str(path), "--arch", "sm_90"]) == 0
        assert f"kept in {tmp_path / 'cache'}" in capsys.readouterr().out
        assert main(["cache", "ls"]) == 0
        assert capsys.readouterr().out.count("sm_90") == 2


def test_a_program_may_have_a_store_of_its_own(tool, tmp_path, capsys):
    path = tmp_path / "kernels.py"
    path.write_text(f"{FILE}\nfrom support.dict_store import DictStore\n"
                    "tw.jit_cache.enable(DictStore())\n")  # fmt: skip
    try:
        assert main(["compile", str(path), "--arch", "sm_90"]) == 0
        assert tw.jit_cache.stats().puts == 2
    finally:
        tw.jit_cache.enable_default()
    assert "kept in DictStore" in capsys.readouterr().out


def test_several_architectures_at_once(tool, tmp_path, capsys):
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    words = ["--arch", "sm_80,sm_107", "--arch", "sm_80"]
    assert main(["compile", str(path), *words, "-o", str(tmp_path / "two")]) == 0
    rows = [row.split()[:2] for row in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["scale", "sm_80"]] * 2 + [["scale", "sm_107"]] * 2


def test_what_is_not_kept_is_said(tool, tmp_path, capsys):
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    (tmp_path / "file").write_text("no directory")
    with override(cache_dir=str(tmp_path / "file")), pytest.warns(RuntimeWarning):
        assert main(["compile", str(path), "--arch", "sm_90"]) == 0
    assert f"2 not kept in {tmp_path / 'file'}" in capsys.readouterr().out
    with override(cache_dir="off"):
        assert main(["compile", str(path), "--arch", "sm_90"]) == 0
    assert "kept nowhere" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--arch", "sm_75"], 2, "'sm_75' is no CUDA architecture"),
        (["--arch", "sm_90a"], 2, "did you mean sm_90?"),
        (["--arch", "cpu"], 2, "'cpu' is no CUDA architecture; there are sm_80,"),
        (["--arch", "sm_90", "--export"], 2, "-o DIR"),
        (["--arch", "sm_90", "-o", "/proc/none"], 1, "/proc/none"),
    ],
)
def test_what_is_refused(tool, tmp_path, capsys, words, status, said):
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    assert main(["compile", str(path), *words]) == status
    assert said in capsys.readouterr().err


SIMT = """
import tilewright as tw
from tilewright import simt

@simt.kernel
def halve(z: simt.DisjointSlice[tw.f32], x: simt.Slice[tw.f32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = x[i] * 0.5
"""


def test_simt_kernels(tool, tmp_path, capsys):
    """They compile to PTX."""
    path = tmp_path / "threads.py"
    path.write_text(SIMT)
    assert main(["compile", str(path), "--arch", "sm_90"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["halve", "sm_90"]
    assert main(["explain", str(path), "--arch", "sm_90", "--stage", "ptx"]) == 0
    assert ".visible .entry halve(" in capsys.readouterr().out
    assert main(["compile", str(path), "--arch", "sm_90", "-o", str(tmp_path)]) == 0
    assert ".visible .entry halve(" in (tmp_path / "halve.ptx").read_text()

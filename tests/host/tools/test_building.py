"""`tilewright build` on files of SIMT kernels."""

from __future__ import annotations

import pytest

from source_tree import ROOT
from tilewright.base.config import override
from tilewright.tools.command import main

FILE = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, simt

@simt.kernel
def fill(out: simt.DisjointSlice[f32], value: f32) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = value

@tw.entry
def tiles(z: tl.TensorMut) -> None:
    z.store(z.load())
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(FILE)
    return file


def test_ptx_of_all_simt_kernels(path, tmp_path, capsys):
    assert main(["build", str(path), "--emit", "ptx", "--arch", "sm_90", "-o", str(tmp_path)]) == 0
    text = (tmp_path / "fill.ptx").read_text()
    assert ".target sm_90" in text
    assert ".visible .entry fill(" in text
    assert "fill for sm_90" in capsys.readouterr().out
    assert not (tmp_path / "tiles.ptx").exists()


def test_a_file_of_its_own(path, tmp_path):
    assert main(["build", str(path), "-o", str(tmp_path / "deep" / "own.ptx")]) == 0
    assert ".version" in (tmp_path / "deep" / "own.ptx").read_text()


def test_the_setting_comes_after_the_option(path, tmp_path):
    with override(target="sm_120"):
        assert main(["build", str(path), "-o", str(tmp_path)]) == 0
        assert ".target sm_120" in (tmp_path / "fill.ptx").read_text()
        assert main(["build", str(path), "--arch", "sm_80", "-o", str(tmp_path)]) == 0
        assert ".target sm_80" in (tmp_path / "fill.ptx").read_text()


def test_what_cannot_be_built(path, tmp_path, capsys):
    assert main(["build", str(path), "--kernel", "tiles"]) == 2
    assert "no SIMT kernels" in capsys.readouterr().err
    assert main(["build", str(path), "--arch", "sm_3", "-o", str(tmp_path)]) == 1
    assert "sm_3" in capsys.readouterr().err
    open_type = tmp_path / "open_type.py"
    open_type.write_text(FILE.replace("DisjointSlice[f32]", "DisjointSlice"))
    assert main(["build", str(open_type), "-o", str(tmp_path)]) == 2
    assert "does not follow from its annotation" in capsys.readouterr().err


def test_the_example_has_no_hidden_parameter(tmp_path):
    """Its contract proves its only check, so that other programs can launch it."""
    example = ROOT / "examples" / "tile_to_simt.py"
    assert main(["build", str(example), "--arch", "sm_80", "-o", str(tmp_path)]) == 0
    head = (tmp_path / "threshold_scale.ptx").read_text().split(".entry")[1].split(")")[0]
    assert head.count(".param") == 6

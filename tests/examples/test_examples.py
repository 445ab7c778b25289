"""Every example runs, checks itself against NumPy and says so."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from source_tree import ROOT
from support import tiers
from tilewright.tools.command import main as build

FOLDER = ROOT / "examples"
HELPERS = {"activations", "decoder", "tile_to_simt_from_ptx"}
"""Modules that examples import, which have no main(); and what needs a GPU."""
EXAMPLES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in HELPERS)


@pytest.fixture
def load(monkeypatch):
    """Import an example as Python does for a script: its folder comes first on the path."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def by_name(name):
        spec = importlib.util.spec_from_file_location(f"examples_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        if hasattr(module, "LAYERS"):
            module.LAYERS = tiers.count(quick=3, full=module.LAYERS)
        return module

    return by_name


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, capsys, load):
    load(name).main()
    last = capsys.readouterr().out.splitlines()[-1]
    expected = {
        "hello_world": "Hello, I am tile <0, 0, 0> in a kernel with <1, 1, 1> tiles.",
        "demo": "PASS",
        "tile_to_simt": "PASS: tile softmax -> SIMT threshold/scale passed",
    }
    assert expected.get(name, f"{name}: ") in last


def test_examples_run_as_scripts():
    """As a newcomer starts them, from any folder."""
    command = [sys.executable, str(FOLDER / "hello_world.py")]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout == "Hello, I am tile <0, 0, 0> in a kernel with <1, 1, 1> tiles.\n"


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", [n for n in EXAMPLES if n not in ("hello_world", "demo")])
def test_the_example_can_fail(name, load, monkeypatch):
    """With a kernel that is off by a little, the example's own check says so."""
    right = tw.Tensor.to_numpy
    monkeypatch.setattr(tw.Tensor, "to_numpy", lambda self: right(self) + np.float32(0.01))
    with pytest.raises(AssertionError):
        load(name).main()


def test_the_demo_can_fail(load, monkeypatch, capsys):
    right = tw.Tensor.to_numpy
    monkeypatch.setattr(tw.Tensor, "to_numpy", lambda self: right(self) + np.float32(0.01))
    assert load("demo").main() == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("FAIL: vector_add")


def test_the_rows_of_the_pipeline(load, capsys):
    load("tile_to_simt").main()
    *_, probs, gated, _ = capsys.readouterr().out.splitlines()
    assert "0.012103 0.019955 0.032901 0.054244 0.089433 0.14745  0.243104 0.40081" in probs
    assert "0.357732 0.5898   0.972415 1.603242" in gated


def test_a_ptx_file_that_is_missing_says_how_to_build_it(load, tmp_path):
    missing = tmp_path / "threshold_scale.ptx"
    with pytest.raises(SystemExit) as caught:
        load("tile_to_simt_from_ptx").main(str(missing))
    assert str(caught.value) == (
        f"failed to read the SIMT kernel's PTX at {missing}: No such file or directory\n"
        f"build it with: tilewright build examples/tile_to_simt.py --emit ptx -o {missing}"
    )


def test_a_ptx_file_needs_a_gpu(load, tmp_path, capsys):
    file = tmp_path / "threshold_scale.ptx"
    assert build(["build", str(FOLDER / "tile_to_simt.py"), "--emit", "ptx", "-o", str(file)]) == 0
    if not tw.default_device().name.startswith("cuda"):
        with pytest.raises(SystemExit, match="runs on NVIDIA GPUs"):
            load("tile_to_simt_from_ptx").main(str(file))
        return
    load("tile_to_simt_from_ptx").main(str(file))
    assert capsys.readouterr().out.splitlines()[-1].startswith("PASS")

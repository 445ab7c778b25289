"""Every example runs, checks itself against NumPy and says so."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from source_tree import ROOT

FOLDER = ROOT / "examples"
HELPERS = {"activations", "decoder"}
"""Modules that examples import; they have no main()."""
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
        return module

    return by_name


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, capsys, load):
    load(name).main()
    last = capsys.readouterr().out.splitlines()[-1]
    expected = {
        "hello_world": "Hello, I am tile <0, 0, 0> in a kernel with <1, 1, 1> tiles.",
        "demo": "PASS",
    }
    assert expected.get(name, f"{name}: ") in last


def test_examples_run_as_scripts():
    """As a newcomer starts them, from any folder."""
    command = [sys.executable, str(FOLDER / "hello_world.py")]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout == "Hello, I am tile <0, 0, 0> in a kernel with <1, 1, 1> tiles.\n"


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

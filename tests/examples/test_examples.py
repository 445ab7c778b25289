"""Every example runs, checks itself against NumPy and says so."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from source_tree import ROOT

FOLDER = ROOT / "examples"
HELPERS = {"activations"}
"""Modules that examples import; they have no main()."""
EXAMPLES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in HELPERS)


def load(name):
    spec = importlib.util.spec_from_file_location(f"examples_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
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


def test_an_example_whose_check_fails_says_so(monkeypatch):
    """The checks in the examples can fail: a wrong expectation does not pass."""
    monkeypatch.syspath_prepend(str(FOLDER))
    module = load("vector_add")
    monkeypatch.setattr(module.np, "random", module.np.random)
    with pytest.raises(AssertionError):
        module.check(module.np.zeros(3), module.np.ones(3))

"""Files that change while a program runs: what is compiled is the code in memory, or nothing."""

from __future__ import annotations

import importlib.util
import os
import sys
import time

import pytest

import tilewright as tw
from tilewright.frontend.capture.sources import essence, function_source, is_edited, is_rewritten

TEXT = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

def helper(tile):
    return tile + 1.0

def kernel(z: tl.TensorMut[f32]) -> None:
    z.store(helper(z.load()))
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that was imported from a file."""
    path = tmp_path / f"edited_{time.monotonic_ns()}.py"
    path.write_text(TEXT)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, found)
    spec.loader.exec_module(found)
    return path, found


def launched(kernel) -> float:
    with tw.device("reference"):
        return kernel(tw.zeros((4,)).partition((4,))).out().sync().to_numpy()[0]


@pytest.mark.parametrize(
    "text",
    [TEXT, TEXT + "\n# a comment\n", "# lines\n# above\n" + TEXT,
     TEXT.replace("def kernel", "def other() -> None: ...\n\ndef kernel")],
    ids=["same", "below", "above", "between"],
)  # fmt: skip
def test_text_that_says_the_same_is_compiled(module, text):
    path, found = module
    path.write_text(text)
    assert launched(tw.entry(found.kernel)) == 1


@pytest.mark.parametrize(
    ("change", "name"),
    [(("1.0", "100.0"), "helper"), (("tile + 1.0", "tile - 1.0"), "helper"),
     (("z.store(helper", "z.store(-helper"), "kernel"), (("def helper", "def ("), "kernel")],
    ids=["constant", "operator", "kernel", "broken"],
)  # fmt: skip
def test_another_text_is_refused(module, change, name):
    path, found = module
    path.write_text(TEXT.replace(*change))
    with pytest.raises(tw.CompileError, match=f"the file of `{name}` has changed since") as caught:
        launched(tw.entry(found.kernel))
    assert "import the module again" in caught.value.hint


def test_a_text_that_was_seen_before_is_known(module):
    path, found = module
    kernel = tw.entry(found.kernel)
    path.write_text(TEXT.replace("1.0", "100.0"))
    assert launched(kernel) == 1


def test_text_given_by_hand_is_believed(module):
    path, found = module
    path.write_text("")
    kernel = tw.entry(source=TEXT)(found.kernel)
    assert function_source(found.kernel, TEXT).name == kernel.source.name


def test_only_files_written_since_the_process_began_are_looked_at(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(TEXT)
    assert is_edited(str(path))
    assert not is_edited(os.__file__)
    assert not is_edited(str(tmp_path / "nothing.py"))
    assert not is_edited("<text>")


def test_the_essence_of_code():
    def made(text):
        names = {}
        exec(compile(text, "text", "exec"), names)
        return names["f"].__code__

    with_import = made("import math\ndef f(x):\n    return math.sqrt(x, y=2)")
    without = made("math = None\n\n\ndef f(x):\n    return math.sqrt(x, y=2)")
    assert with_import.co_code != without.co_code, "or this test needs no second case"
    assert essence(with_import) == essence(without)
    others = ("math.sqrt(x, y=3)", "math.sqrt(x, z=2)", "math.cbrt(x, y=2)", "math.sqrt(x, y=2.0)")
    for other in others:
        changed = made(f"math = None\ndef f(x):\n    return {other}")
        assert essence(changed) != essence(without)
    nested = [made(f"def f():\n    return lambda: {n}") for n in (1, 2, 1)]
    assert essence(nested[0]) == essence(nested[2]) != essence(nested[1])


def test_assertions_that_pytest_has_rewritten():
    def checked(x):
        assert x > 0

    def plain(x):
        return x

    assert is_rewritten(checked.__code__)
    assert not is_rewritten(plain.__code__)

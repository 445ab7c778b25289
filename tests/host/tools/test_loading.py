"""Kernel files: imported without running their program, their own kernels found."""

from __future__ import annotations

import sys

import pytest

from tilewright.tools.loading import chosen, kernels_of, load_file
from tilewright.tools.subcommand import UsageError

KERNELS = """
import tilewright as tw
import tilewright.lang as tl
from other import shared

@tw.entry
def second(z: tl.TensorMut) -> None:
    z.store(tl.zeros(z.shape, z.dtype))

@tw.entry
def first(z: tl.TensorMut) -> None:
    z.store(tl.zeros(z.shape, z.dtype))

if __name__ == "__main__":
    raise AssertionError("the program ran")
"""
OTHER = """
import tilewright as tw
import tilewright.lang as tl

@tw.entry
def shared(z: tl.TensorMut) -> None:
    z.store(tl.zeros(z.shape, z.dtype))
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    (tmp_path / "other.py").write_text(OTHER)
    (tmp_path / "kernels.py").write_text(KERNELS)
    yield tmp_path / "kernels.py"
    sys.modules.pop("other", None)


def test_own_kernels_in_order(path):
    before = list(sys.path)
    assert list(kernels_of(load_file(path))) == ["second", "first"]
    assert sys.path == before


def test_one_by_name_also_if_imported(path):
    assert list(chosen(path, "first")) == ["first"]
    assert list(chosen(path, "shared")) == ["shared"]
    assert list(chosen(path, None)) == ["second", "first"]


def test_what_is_not_there(path, tmp_path):
    with pytest.raises(UsageError, match="no kernel `third`; it has second, first"):
        chosen(path, "third")
    with pytest.raises(UsageError, match="there is no file"):
        load_file(tmp_path / "gone.py")
    empty = tmp_path / "empty.py"
    empty.write_text("")
    with pytest.raises(UsageError, match="defines no kernels"):
        chosen(empty, None)
    text = tmp_path / "notes.txt"
    text.write_text("")
    with pytest.raises(UsageError, match="no Python file"):
        load_file(text)

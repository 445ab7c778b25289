"""What a program launches: each specialization once, with its arguments."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.tools.explore.recording import copied, launches
from tilewright.tools.subcommand import UsageError


def test_each_specialization_once_with_the_most_memory(launched):
    assert [each.needed.kernel.name for each in launched] == ["scale", "shifted"]
    scale, _ = launched
    assert scale.values is not None and [v.shape for v in scale.values] == [(7, 9), (7, 9)]
    assert scale.values[1].tolist() == np.arange(63.0).reshape(7, 9).tolist()
    assert scale.grid[:2] == (2, 3)
    assert scale.unwritten == {"out"}, "nobody had written it before"


def test_what_the_program_prints_is_not_the_answer(program, capsys):
    with tw.device("cpu"):
        launches(program, "scale")
    printed = capsys.readouterr()
    assert printed.out == "" and "done" in printed.err


def test_a_kernel_that_is_not_launched(program):
    with tw.device("cpu"), pytest.raises(UsageError, match="launches no kernel `other`"):
        launches(program, "other")


def test_a_program_that_fails(tmp_path):
    path = tmp_path / "failing.py"
    path.write_text("raise SystemExit(3)")
    with pytest.raises(UsageError, match="status 3"):
        launches(path, None)


@pytest.mark.parametrize("view", [
    lambda a: a, lambda a: a[::2, 1:], lambda a: a[::-1], lambda a: a.T, lambda a: a[:, :0],
    lambda a: np.broadcast_to(a[:1], (5, 6)),
])  # fmt: skip
def test_copies_have_the_same_strides(view):
    array = view(np.arange(30.0).reshape(5, 6))
    copy = copied(array)
    assert copy.strides == array.strides and copy.tolist() == array.tolist()
    assert not copy.size or not np.shares_memory(copy, array)


def test_numbers_are_what_they_are():
    assert copied(3) == 3

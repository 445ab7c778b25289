"""Our verdict on each program, beside rustc's."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import tilewright as tw
from ownership import lazy_programs, programs
from ownership.kernels import add, neg, two, whole
from ownership.lazy_programs import ALL
from ownership.programs import Program
from tilewright.op.core import is_op


def names():
    tensors = {n: tw.from_numpy(np.full((4, 4), 7, "f4")).sync() for n in "xyzw"}
    kernels = {"neg": neg, "add": add, "two": two, "whole": whole}
    lazy = {"lazy": lambda: tw.zeros((4, 4)).partition((2, 2))}
    return {"tw": tw, "np": np, "s": (2, 2), **kernels, **lazy, **tensors}


@pytest.mark.parametrize("name", ALL)
def test_program(name):
    program = ALL[name]
    code = compile(program.python, "program", "exec")
    with tw.device("reference"):
        space = names()
        if not program.refused:
            exec(code, space)
            return
        with pytest.raises(tw.BorrowError) as caught:
            exec(code, space)
        for op in filter(is_op, space.values()):
            op.close()
    frames = traceback.extract_tb(caught.tb)
    line = next(frame.lineno for frame in frames if frame.filename == "program")
    assert line == program.python.count("\n") + 1, "refused too early"


def test_there_are_enough():
    assert len(ALL) >= 160
    groups = (programs.MOVES, programs.SHARED, programs.EXCLUSIVE, programs.PARTS, programs.ARCS,
              programs.SLICES, programs.OPS, programs.IN_FLIGHT, lazy_programs.LAZY,
              lazy_programs.VALUES, lazy_programs.FORMS, lazy_programs.SPAWNED)  # fmt: skip
    assert len(ALL) == sum(map(len, groups))


def test_most_verdicts_are_rustc_s():
    differ = [name for name, p in ALL.items() if p.why]
    assert len(differ) <= len(ALL) // 4, differ
    stricter = [name for name in differ if ALL[name].refused]
    assert stricter == ["forgotten slice of what is written", "two copies to one place"]


def test_a_reason_is_given_only_where_verdicts_differ():
    texts = {key: text for key, text in vars(programs).items() if key.isupper()}
    reasons = {text for text in texts.values() if isinstance(text, str)}
    assert {p.why for p in ALL.values()} == {"", *reasons}
    assert all(isinstance(p, Program) for p in ALL.values())

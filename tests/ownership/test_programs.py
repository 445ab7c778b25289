"""Our verdict on each program, beside rustc's."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import tilewright as tw
from ownership import programs
from ownership.kernels import add, neg, two
from ownership.programs import PROGRAMS, Program


def names():
    tensors = {n: tw.from_numpy(np.full((4, 4), 7, "f4")).sync() for n in "xyzw"}
    return {"tw": tw, "np": np, "neg": neg, "add": add, "two": two, "s": (2, 2), **tensors}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    program = PROGRAMS[name]
    code = compile(program.python, "program", "exec")
    with tw.device("reference"):
        space = names()
        if not program.refused:
            exec(code, space)
            return
        with pytest.raises(tw.BorrowError) as caught:
            exec(code, space)
    frames = traceback.extract_tb(caught.tb)
    line = next(frame.lineno for frame in frames if frame.filename == "program")
    assert line == program.python.count("\n") + 1, "refused too early"


def test_there_are_enough():
    assert len(PROGRAMS) >= 60
    groups = (programs.MOVES, programs.SHARED, programs.EXCLUSIVE, programs.PARTS, programs.ARCS,
              programs.SLICES, programs.OPS, programs.IN_FLIGHT)  # fmt: skip
    assert len(PROGRAMS) == sum(map(len, groups))


def test_most_verdicts_are_rustc_s():
    differ = [name for name, p in PROGRAMS.items() if p.why]
    assert len(differ) <= len(PROGRAMS) // 4, differ
    stricter = [name for name in differ if PROGRAMS[name].refused]
    assert stricter == ["forgotten slice of what is written", "two copies to one place"]


def test_a_reason_is_given_only_where_verdicts_differ():
    texts = {key: text for key, text in vars(programs).items() if key.isupper()}
    reasons = {text for text in texts.values() if isinstance(text, str)}
    assert {p.why for p in PROGRAMS.values()} == {"", *reasons}
    assert all(isinstance(p, Program) for p in PROGRAMS.values())

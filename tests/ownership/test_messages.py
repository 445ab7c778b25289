"""The twelve messages that people see first, word for word."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import tilewright as tw
from ownership.kernels import neg

# Each program ends with the line that raises, or warns.
MESSAGES = {
    "1 an op unpacked": "a, b = neg(z.partition_mut(s), x)",
    "2 an op dropped": "neg(z.partition_mut(s), x)",
    "3 the shape of an op": "tw.zeros((4, 4)).shape",
    "4 a plain tensor for an output": "neg(z, x)",
    "5 one tensor read and written": "neg(z.partition_mut(s), z)",
    "6 used after partition": "p = z.partition(s)\nz.to_numpy()",
    "7 an op used twice": "op = tw.zeros((4, 4))\nneg(op.partition(s), x).close()\nop.sync()",
    "8 written while a view is alive": "a = np.asarray(z)\nneg(z.partition_mut(s), x).sync()",
    "9 an op whose borrow has ended": (
        "op = neg(z.partition_mut(s), x)\nq = z.partition_mut(s)\nop.sync()"
    ),
    "10 a function of the wrong arity": (
        "neg(z.partition_mut(s), x).then(lambda t: tw.value(t)).sync()"
    ),
    "11 run inside then": (
        "neg(z.partition_mut(s), x).map(lambda p, x: tw.zeros((4, 4)).sync()).sync()"
    ),
    "12 a kernel indexed by a grid": "neg[(1, 1, 1)](z, x)",
}


def run(program, tmp_path):
    """Run a program from a file, so that its lines can be shown; give what it raises or warns."""
    path = tmp_path / "program.py"
    path.write_text(program + "\n", encoding="utf-8")
    names = {"tw": tw, "np": np, "neg": neg, "s": (2, 2)}
    names |= {n: tw.from_numpy(np.ones((4, 4), "f4")).sync() for n in "xz"}
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            exec(compile(program, str(path), "exec"), names)
    except (tw.Error, TypeError, AttributeError) as error:
        kind, text = type(error).__name__, str(error)
    else:
        [one] = warned
        kind, text = one.category.__name__, str(one.message)
    return re.sub(r"\S*/program\.py", "program.py", f"{kind}: {text}")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", MESSAGES)
def test_message(name, golden, tmp_path):
    with tw.device("reference"):
        golden(run(MESSAGES[name], tmp_path), re.sub(r"\W+", "-", name))

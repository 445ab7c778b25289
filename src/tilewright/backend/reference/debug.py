"""Print and assert: records of the launch; the block goes on."""

from __future__ import annotations

import numpy as np

from ...ir import Op
from ...ir.artifact import Printed
from .machine import Frame, Results, Rule


def _print(frame: Frame, op: Op) -> Results:
    values = tuple(np.array(a) for a in frame.arrays(op))
    record = Printed(frame.launch.sites[op], frame.block, values)
    frame.launch.printed.append((frame.number, record))
    return ()


def _assert(frame: Frame, op: Op) -> Results:
    if not bool(frame.array(op.one("cond"))):
        frame.fail(op)
    return ()


RULES: dict[str, Rule] = {"print": _print, "assert": _assert}

"""The corpus of bad indices: where forced checks stop a launch placed ones do, and only there.

The one thing that may be refused for nothing is index arithmetic that wraps around and comes back.
"""

from __future__ import annotations

import pytest

import tilewright as tw
from support.corpus import BODIES, LAUNCHES, kernel, launches, outcome

WRAPS = "wraps around"


def test_there_are_enough_probes():
    assert len(BODIES) >= 80


@pytest.mark.parametrize("name", BODIES)
def test_placed_checks_stop_what_forced_ones_stop(device, name):
    probe = kernel(name)
    with tw.device(device):
        for arguments in launches(name)[:: 1 if device == "cpu" else 3]:
            forced = outcome(probe, arguments, checks="forced")
            for checks in ("placed", "pinned"):
                found = outcome(probe, arguments, checks=checks)
                if forced.error:
                    assert found.error, (checks, arguments)
                elif WRAPS not in found.error:
                    assert found == forced, (checks, arguments)


def test_where_checks_go(golden):
    lines = []
    for name in BODIES:
        probe = kernel(name)
        with tw.device("reference"):
            outcome(probe, LAUNCHES[0], checks="placed")
        lines.append(f"{name:34} {probe.checks()}")
    golden("\n".join(lines))

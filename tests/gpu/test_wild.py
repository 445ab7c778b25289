"""Random kernels of many kinds on the GPU, beside the reference: `--kernels` says how many.

A program that brings the GPU down, or kills its process, is named and cut down; all others go on.
"""

from __future__ import annotations

import os

from fuzz.wild.campaign import conduct
from fuzz.wild.running import AGREES
from support.numbers import fresh_seed

SECONDS = 540
"""After these no program is begun."""


def test_all_agree(request):
    count = max(request.config.getoption("--kernels"), 200)
    workers = min(os.cpu_count() or 2, 16)
    first = fresh_seed() % 1_000_000
    campaign = conduct("cuda", count, first, workers, SECONDS)
    assert campaign.counts[AGREES] >= 0.7 * campaign.counts.total(), campaign.counts
    assert not campaign.bad, "\n\n".join(program.shown() for program, _ in campaign.bad)

"""What runs on a GPU elsewhere runs here on a simulated one: all the way but for the last step."""

from __future__ import annotations

import subprocess
import sys

import pytest

from source_tree import ROOT

FILES = [
    "cpu/tensors/test_order.py", "cpu/graph/test_graph.py", "cpu/language/test_failures.py",
    "cpu/launch/test_kernel.py", "cpu/launch/test_starting.py", "host/tensors/test_transfer.py",
    "ownership/test_cells.py",
]  # fmt: skip


@pytest.mark.thinned(1)
@pytest.mark.parametrize("file", FILES)
def test_on_a_simulated_gpu(tool, file):
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "--simulate=sm_90", "--assemble",
               "--on=cuda"]  # fmt: skip
    command = [sys.executable, "-m", "pytest", *options, f"tests/{file}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout

"""A worker process that dies is told of with how it ended, and where it was."""

from __future__ import annotations

import subprocess
import sys

import pytest

from source_tree import ROOT

pytest.importorskip("xdist")

ENDS = {
    "pass": ("1 passed",),
    "ctypes.string_at(0)": ("ended by SIGSEGV", "in fall", "in test_it"),
    "os.kill(os.getpid(), signal.SIGKILL)": ("ended by SIGKILL",),
    "os._exit(3)": ("exit status 3",),
}


@pytest.mark.thinned(1)
@pytest.mark.parametrize("end", ENDS)
def test_how_a_worker_ended(tmp_path, end):
    program = f"import ctypes, os, signal\ndef fall(): {end}\ndef test_it(): fall()\n"
    (tmp_path / "test_one.py").write_text(program, encoding="utf-8")
    (tmp_path / "conftest.py").write_text("pytest_plugins = ['support.last_words']\n", "utf-8")
    command = [
        sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider",
        "--max-worker-restart=0", "-o", f"pythonpath={ROOT / 'tests'}", ".",
    ]  # fmt: skip
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == (end != "pass")
    for words in ENDS[end]:
        assert words in ended.stdout

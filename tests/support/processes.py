"""Runs programs about the CPU driver in processes of their own, with a watchdog."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
from cpu.devices.cpu.kernels import *
from support.execute import execute
from tilewright.base import config
from tilewright.base.errors import ContextError
from tilewright.devices.cpu import pool
from tilewright.devices.cpu.run import Launcher
from tilewright.devices.host import CPU
"""


def run_program(text: str, timeout: float = 60) -> str:
    """Run a program in a process of its own; give what it wrote."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + textwrap.dedent(text)],
        capture_output=True, text=True, timeout=timeout, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout

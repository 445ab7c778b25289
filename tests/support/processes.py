"""Programs in processes: several that work together, each with its rank; one about CUDA."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PATIENCE = 120

PREAMBLE = """
import os, sys, time
import numpy as np
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.distributed import *
RANK, SIZE, PORT = map(int, sys.argv[1:])
def join(**more):
    return init("gloo", address=f"tcp://127.0.0.1:{PORT}", rank=RANK, size=SIZE, **more)
"""


@dataclass
class Ended:
    """A process that has ended."""

    code: int
    out: str
    err: str


@contextmanager
def ray_folder() -> Iterator[str]:
    """A folder for Ray, whose sockets need a short path: that of pytest is too long."""
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def run(body: str, size: int, **environment: str) -> list[Ended]:
    """Run a program as so many ranks; what each printed."""
    port, started = free_port(), []
    program = PREAMBLE + textwrap.dedent(body)
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "TILEWRIGHT_NUM_THREADS": "1", **environment}
    for rank in range(size):
        command = [sys.executable, "-W", "error", "-c", program, str(rank), str(size), str(port)]
        started.append(
            subprocess.Popen(
                command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
    found = []
    try:
        for each in started:
            out, err = each.communicate(timeout=PATIENCE)
            found.append(Ended(each.returncode, out, err))
    finally:
        for each in started:
            each.kill()
            each.wait()
    return found


def expect(body: str, size: int, **environment: str) -> list[str]:
    """Do as `run`, for ranks that end well; their lines."""
    ended = run(body, size, **environment)
    for rank, each in enumerate(ended):
        assert each.code == 0, f"rank {rank} ended with {each.code}:\n{each.out}\n{each.err}"
    return [each.out for each in ended]


DRIVER_PROGRAM = """
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
    """Run a program about the CPU driver in a process of its own; give what it wrote."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER_PROGRAM + textwrap.dedent(text)],
        capture_output=True, text=True, timeout=timeout, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout

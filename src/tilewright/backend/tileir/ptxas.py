"""NVIDIA's assembler of PTX, where it is installed: what its code needs, for people who look.

Launches do not use it: drivers make code of PTX themselves.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from ...base.stage import Listing
from .toolchain import SECONDS, find_program, listings, run

NAME, WHEEL = "ptxas", "nvidia-cuda-nvcc"


def assembled(ptx: bytes, arch: str) -> bytes | None:
    """Return the cubin of PTX, with the lines of Python; None without the assembler.

    Also None if it refuses the PTX: which versions it reads depends on its release.
    """
    program = find_program(NAME, WHEEL)
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_bytes(ptx)
        command = [str(program), f"--gpu-name={arch}", "--generate-line-info"]
        ended = run([*command, f"--output-file={target}", str(source)], SECONDS)
        return target.read_bytes() if ended.status == 0 else None


def machine_code(ptx: bytes, arch: str) -> dict[str, Listing]:
    """Return the machine code of PTX as `sass`; {} where the tools for it are not installed."""
    cubin = assembled(ptx, arch)
    return {k: v for k, v in listings(cubin).items() if k == "sass"} if cubin else {}

"""What a cubin became in text: the PTX it was made from, and its machine instructions.

The PTX stands in cubins that name lines of Python; these have the same instructions as others.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from ...base.cubin import sections
from .processes import run
from .toolchain import find_program

PTX = ".nv_debug_ptx_txt"
APPENDED = ".nv_intermediate_source_section"
"""What the assembler writes behind the PTX."""
DISASSEMBLER = "nvdisasm"
WHEEL = "nvidia-cuda-nvdisasm"
SECONDS = 60


def listings(cubin: bytes) -> dict[str, str]:
    """The texts there are, by name; machine code only where NVIDIA's disassembler is installed."""
    found = {"ptx": ptx(cubin), "sass": sass(cubin)}
    return {name: text for name, text in found.items() if text}


def ptx(cubin: bytes) -> str:
    """The PTX; empty where the cubin has none."""
    for section in sections(cubin):
        if section.name == PTX:
            text = section.data.decode(errors="replace").replace("\0", "\n")
            lines = text.partition(APPENDED)[0].splitlines()
            return "\n".join(line for line in lines if line.strip()) + "\n"
    return ""


def sass(cubin: bytes) -> str:
    """The machine instructions, each group under its line of Python; empty without nvdisasm."""
    program = find_program(DISASSEMBLER, WHEEL)
    if program is None:
        return ""
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        ended = run([str(program), "--print-code", "--print-line-info", str(path)], SECONDS)
    return ended.words if ended.status == 0 else f"{program}: {ended.manner}: {ended.words}"

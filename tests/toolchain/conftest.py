"""Tests that need NVIDIA's assembler, but no GPU."""

from __future__ import annotations

import subprocess

import pytest

from support.simulated_cuda import do_without_assembler
from tilewright.backend.tileir.toolchain import Toolchain, find_toolchain
from tilewright.base.errors import CompileError


@pytest.fixture(scope="session")
def tool() -> Toolchain:
    """The assembler, or a reason to skip."""
    try:
        return find_toolchain()
    except CompileError as error:
        pytest.skip(f"no CUDA assembler here ({error.got}); {error.hint}")


@pytest.fixture
def without_assembler(monkeypatch):
    """Code that runs nowhere, for drivers that run kernels of their own: no assembler is needed."""
    do_without_assembler(monkeypatch.setattr)


@pytest.fixture(scope="session")
def disassemble(tool, tmp_path_factory):
    """From bytecode to NVIDIA's own text of it."""
    folder = tmp_path_factory.mktemp("bytecode")

    def run(bytecode: bytes, *options: str) -> str:
        path = folder / "kernel.tileirbc"
        path.write_bytes(bytecode)
        done = subprocess.run(
            [tool.disassembler, *options, str(path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run

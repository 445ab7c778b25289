"""Lines of Python in cubins, and what NVIDIA's tools show of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright.backend.tileir import toolchain
from tilewright.backend.tileir.toolchain import find_program
from tilewright.base.config import override
from tilewright.base.cubin import sections

HERE = Path(__file__).read_text().splitlines()


def halved(tile):
    return tile * 0.5  # the helper's line


def fresh():
    @tw.entry
    def softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
        tile = tl.load_tile_like(x, out, padding=tl.neg_inf)  # the load's line
        p = tl.exp(halved(tile) - tl.reduce_max(tile, 1, keepdims=True))  # the line of exp
        out.store(p / tl.reduce_sum(p, 1, keepdims=True))  # the store's line

    return softmax


COMMENTS = ("the load's line", "the line of exp", "the store's line")


def line_of(comment):
    (number,) = [n for n, line in enumerate(HERE, 1) if line.endswith(f"# {comment}")]
    return number


def cubin(*, line_info):
    z = tw.meta((1000, 512))
    with override(line_info=line_info):
        return fresh().compile_for("sm_90", z.partition_mut((2, 512)), z).code


def test_lines_change_no_instruction(tool):
    with_lines, without = ({s.name: s.data for s in sections(cubin(line_info=on))} for on in (1, 0))
    assert ".debug_line" in with_lines and ".debug_line" not in without
    assert with_lines[".text.softmax"] == without[".text.softmax"]


def test_the_table_of_lines_is_that_of_python(tool, tmp_path):
    """As profilers and debuggers read it."""
    if shutil.which("readelf") is None:
        pytest.skip("no readelf here")
    path = tmp_path / "kernel.cubin"
    path.write_bytes(cubin(line_info=True))
    done = subprocess.run(
        ["readelf", "--debug-dump=decodedline", str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [row.split() for row in done.stdout.splitlines() if row.startswith("test_listing.py")]
    lines = {int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
    assert {
        line_of("the load's line"),
        line_of("the line of exp"),
        line_of("the store's line"),
    } <= (lines)
    assert str(Path(__file__)) in done.stdout


def test_inspect_shows_the_ptx(tool):
    z = tw.meta((1000, 512))
    stages = fresh().inspect(z.partition_mut((2, 512)), z, device="sm_90")
    text = stages["ptx"]
    assert ".visible .entry softmax(" in text and "ex2.approx" in text
    assert "tile ir" not in text and not text.startswith("\n")


def test_a_cubin_without_lines_has_none(tool):
    assert toolchain.ptx(cubin(line_info=False)) == ""


def test_machine_code_under_lines_of_python(tool):
    if find_program(toolchain.DISASSEMBLER, toolchain.NVDISASM_WHEEL) is None:
        pytest.skip(f"pip install {toolchain.NVDISASM_WHEEL}")
    z = tw.meta((1000, 512))
    text = fresh().inspect(z.partition_mut((2, 512)), z, device="sm_90")["sass"]
    assert "MUFU.EX2" in text and "EXIT" in text
    for comment in COMMENTS:
        assert f'test_listing.py", line {line_of(comment)}' in text


def without(monkeypatch, other):
    """Let another program, or none, be the disassembler."""
    real = toolchain.find_program
    found = lambda name, wheel: other if name == toolchain.DISASSEMBLER else real(name, wheel)  # noqa: E731
    monkeypatch.setattr(toolchain, "find_program", found)


def test_without_a_disassembler_there_is_no_machine_code(tool, monkeypatch, tmp_path):
    without(monkeypatch, None)
    assert list(toolchain.listings(cubin(line_info=True))) == ["ptx"]


def test_a_disassembler_that_fails_says_so(tool, monkeypatch, tmp_path):
    broken = tmp_path / "nvdisasm"
    broken.write_text("#!/bin/sh\necho oops >&2; exit 1\n")
    broken.chmod(0o755)
    without(monkeypatch, broken)
    assert "exit status 1: oops" in toolchain.sass(cubin(line_info=True))

"""Every op with every element type, in every version, through NVIDIA's own reader and assembler."""

from __future__ import annotations

import re
from functools import cache

import pytest

from support import tiers
from support.numbers import fresh_random
from support.probes import Probe, packed
from tilewright.backend.tileir import stages as tileir
from tilewright.backend.tileir.bytecode.enums import NEWEST, V13_1, VERSIONS
from tilewright.backend.tileir.bytecode.opcodes import OPCODES, RENAMED
from tilewright.backend.tileir.bytecode.program import Kernel, Program
from tilewright.backend.tileir.bytecode.reader import read
from tilewright.backend.tileir.bytecode.writer import write
from tilewright.backend.tileir.lowered import Job, assemble
from tilewright.backend.tileir.target import TileTarget
from tilewright.base.errors import Code, CompileError
from tilewright.compile.pipeline import CUDA_PASSES
from tilewright.ir.ops import OPS
from toolchain import ops

PACK = 50
SAMPLE = tiers.count(quick=30, full=100)
IMPLICIT = ("yield", "continue", "return", "break")
"""Ends of regions that the disassembler does not print if they pass nothing on."""


@cache
def probes() -> list[tuple[Probe, object]]:
    """The probes, with their IR after the passes."""
    found = []
    for probe in ops.probes():
        func = probe.func
        for pass_ in CUDA_PASSES:
            func = pass_(func)
        found.append((probe, func))
    return found


def kernels(arch: str, version=NEWEST, chosen=None) -> list[Kernel]:
    target = TileTarget(arch, version)
    return [
        tileir.lowered(func, target).program.kernels[0]
        for probe, func in chosen or probes()
        if probe.since <= target.number and not too_new(probe, version)
    ]


def too_new(probe: Probe, version) -> bool:
    return probe.name.startswith("atan2") and version == V13_1


def files(arch: str, version=NEWEST, chosen=None):
    for pack in packed(kernels(arch, version, chosen), PACK):
        program = Program(tuple(pack))
        yield program, write(program, version, places=False)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_probe_is_read(version, disassemble):
    for program, data in files("sm_90", version):
        text = disassemble(data)
        assert text.count("entry @") == len(program.kernels)


def some() -> list[tuple[Probe, object]]:
    """A third of the probes, each op's first among them."""
    found: dict[str, list[tuple[Probe, object]]] = {}
    for pair in probes():
        found.setdefault(pair[0].name.partition("_")[0], []).append(pair)
    return [pair for of_op in found.values() for pair in of_op[::3]]


def test_every_probe_compiles(tool):
    for program, data in files("sm_90", chosen=tiers.count(quick=some(), full=None)):
        assert assemble(Job(program.kernels[0].name, "sm_90", data, None), tool)


@pytest.mark.thinned(1)
@pytest.mark.parametrize("arch", ["sm_100", "sm_80", "sm_120"])
def test_some_probes_compile_elsewhere(arch, tool):
    chosen = fresh_random().sample(probes(), SAMPLE)
    small = [pair for pair in probes() if pair[0].since == 100 and pair not in chosen]
    for program, data in files(arch, chosen=[*chosen, *small]):
        assert assemble(Job(program.kernels[0].name, arch, data, None), tool)


def listed(text: str) -> list[tuple[str, str]]:
    """The instructions of a listing of the disassembler, each with its line."""
    found = []
    for line in text.splitlines():
        match = re.match(r"\s+(?:%[^=]* = )?([a-z_0-9]+)", line)
        if match and not (match[1] in IMPLICIT and "%" not in line):
            found.append((RENAMED.get(match[1], match[1]), line))
    return found


@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
def test_our_text_agrees_with_the_disassembler(arch, disassemble):
    for _, data in files(arch):
        theirs = listed(disassemble(data))
        ours = [
            instr
            for kernel in read(data)[0].kernels
            for instr in kernel.walk()
            if not (instr.op.name in IMPLICIT and not instr.operands)
        ]
        assert [instr.op.name for instr in ours] == [name for name, _ in theirs]
        for instr, (_, line) in zip(ours, theirs, strict=True):
            for value in instr.results:
                assert str(value.kind) in line, line


def test_types_that_an_architecture_lacks_are_refused():
    for probe, func in probes():
        if probe.since > 80 and "pack" not in probe.name:  # those two undo each other
            with pytest.raises(CompileError) as caught:
                tileir.lowered(func, TileTarget("sm_80"))
            assert caught.value.code is Code.TARGET


def test_what_a_version_lacks_is_refused():
    (atan2,) = [func for probe, func in probes() if probe.name == "atan2_f32"]
    with pytest.raises(CompileError) as caught:
        tileir.lowered(atan2, TileTarget("sm_90", V13_1))
    assert caught.value.code is Code.TARGET
    assert "13.2" in caught.value.expected


# --- the tables cover each other -----------------------------------------------------------------

ELSEWHERE = {
    "block_id", "num_blocks", "extent", "make_tensor", "make_view", "num_tiles", "load_view",
    "store_view", "atomic_red_view", "tile_index", "for", "loop", "if", "continue", "break",
}  # fmt: skip
"""Ops that need a tensor, a grid or a loop: test_language and test_persistent have them."""
NEVER = {"scope", "leave", "breakpoint"}
"""Lowered before this backend, or rejected for it."""


def test_every_op_has_a_probe():
    seen = {op.name.removesuffix("_tko") for probe, _ in probes() for op in probe.func.walk()}
    tile = [name for name, op in OPS.items() if op.dialect != "simt"]
    known = {name.removesuffix("_tko") for name in tile} - {"make_token", "join_tokens"}
    assert known - seen == ELSEWHERE | NEVER


UNUSED = {
    "assert": "assertions are records",
    "print_tko": "prints are records",
    "get_global": "globals are parameters",
    "alloca": "tiles are values",
    "insert": "the language has no insertion",
    "fpowi": "powers of small integers are products",
    "get_index_space_shape": "tile counts are computed",
    "get_tensor_shape": "extents are parameters",
    "make_gather_scatter_view": "rows outside of a tensor are padding, which it does not promise",
    "atomic_red_view_tko": "an index outside is harmless, which it does not promise",
    "gdc_launch_dependents_tko": "kernels do not overlap",
    "gdc_wait_tko": "kernels do not overlap",
    "memory_fence_alias_tko": "order is by tokens",
}
"""Instructions that no rule writes, with the reason."""


def test_every_instruction_is_written_or_has_a_reason():
    written = {
        instr.op.name for arch in ("sm_80", "sm_100") for k in kernels(arch) for instr in k.walk()
    }
    of_views = {"load_view_tko", "store_view_tko", "make_tensor_view", "make_partition_view",
                "make_strided_view", "for", "assume", "get_tile_block_id", "get_num_tile_blocks",
                "join_tokens"}  # fmt: skip
    assert set(OPCODES) - written - of_views == set(UNUSED)

"""Native code: the target CPU, LLVM text to an object file, and its encoding in the disk cache."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import llvmlite
import ml_dtypes
import numpy as np

from ...base.config import current
from ...base.errors import InternalError
from ...base.files import source_hash
from ...base.llvm import llvm
from ...base.shield import llvm_lock, made_once, shielded
from ...base.stage import ArtifactCodec, Fact, Facts, Listing, Saved
from ...ir.artifact import Artifact, sites_of
from ...ir.core import Func
from ...ir.printer import NotExactError, exact_text
from .debug_locations import directive_listing

# --- the target CPU ----------------------------------------------------------------------------

AVX512 = ("+avx512f", "+avx512bw", "+avx512dq", "+avx512vl")

MOVES = {"znver4": 32}
"""Bytes that CPUs move best at a time, by LLVM's name for them; others move a whole register. This
one takes 512-bit vectors in halves."""
LEAST_MOVE = 32
"""Where registers have 16 bytes, two of them go together."""


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """A CPU as LLVM names it, and how much scratch a worker may use."""

    name: str
    features: str
    triple: str
    scratch_limit: int = 64 << 20

    def has(self, *features: str) -> bool:
        """Return whether all these features are on, as in `+avx2`."""
        return set(features) <= set(self.features.split(","))

    @property
    def vector_bytes(self) -> int:
        """Bytes of one vector register."""
        if self.has(*AVX512):
            return 64
        return 32 if self.has("+avx2") else 16

    @property
    def is_x86(self) -> bool:
        """Whether it is a 64-bit x86."""
        return self.triple.startswith(("x86_64", "amd64"))

    @property
    def vector_registers(self) -> int:
        """How many vector registers there are."""
        return 32 if self.has(*AVX512) or self.triple.startswith(("aarch64", "arm64")) else 16

    @property
    def lane_bytes(self) -> int:
        """Bytes that one vector statement works on: two registers, so that latencies overlap."""
        return 2 * max(self.vector_bytes, 32)

    @property
    def scales(self) -> bool:
        """Whether vectors are multiplied by powers of two with one instruction."""
        return self.has(*AVX512)

    @property
    def stream_bytes(self) -> int:
        """Bytes of one tensor that a loop should touch at a time if it waits for memory."""
        return max(MOVES.get(self.name, self.vector_bytes), LEAST_MOVE)

    def orders_integers(self, bits: int) -> bool:
        """Return whether three integer extremes cost less than one float extreme with NaN and -0.

        Elsewhere than on x86 the latter is one instruction.
        """
        return self.has("+sse4.1") and (bits < 64 or self.has(*AVX512))


def host_target() -> CpuTarget:
    """Return the CPU this process runs on, with the scratch limit that is set now."""
    name, features, triple = _host()
    return CpuTarget(name, features, triple, current().scratch_limit)


@cache
def _host() -> tuple[str, str, str]:
    features = llvm.get_host_cpu_features().flatten()
    return str(llvm.get_host_cpu_name()), str(features), str(llvm.get_default_triple())


# -------------------------------------------------------------------------------------------------
# LLVM passes over modules, with explicit disposal.
#
# llvmlite leaks pass managers: `_dispose` is hidden by that of its first base, which does nothing.
# Each manager would leak its passes, a hundred kilobytes in the default pipeline.

_MANAGER: type[Any] = llvm.newpassmanagers.NewPassManager
_dispose: Callable[[Any], None] = vars(_MANAGER)["_dispose"]


def run_passes(manager: Any, module: Any, builder: Any) -> None:
    """Run the passes of a manager over a module, once."""
    try:
        manager.run(module, builder)
    finally:
        _dispose(manager)
        manager.detach()


def run_default_passes(module: Any, builder: Any) -> None:
    """Run the passes that a builder's options ask for."""
    run_passes(builder.getModulePassManager(), module, builder)


# -------------------------------------------------------------------------------------------------
# LLVM text to an object file: parsed and verified first, because LLVM aborts on invalid IR.

OPTIMIZATION = 2


@made_once
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _machine(cpu: CpuTarget) -> Any:
    _initialize()
    target = llvm.Target.from_triple(cpu.triple)
    return target.create_target_machine(
        cpu=cpu.name, features=cpu.features, opt=OPTIMIZATION, reloc="pic", codemodel="default"
    )


def _parse(text: str, cpu: CpuTarget, machine: Any) -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.triple = cpu.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InternalError(
            "the CPU backend generated LLVM code that LLVM rejects",
            got=str(error).strip(),
            hint="this is a bug; TILEWRIGHT_DUMP=llvm shows the code",
        ) from None
    return module


def _optimize(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMIZATION)
    # Our loops are vectors already: unrolled once more they are no faster, only longer to compile.
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    run_default_passes(module, builder)


def compile_module(text: str, cpu: CpuTarget) -> bytes:
    """Return the object file of a module."""
    with llvm_lock():
        return shielded(_compile, text, cpu)


def _compile(text: str, cpu: CpuTarget) -> bytes:
    machine = _machine(cpu)
    module = _parse(text, cpu, machine)
    _optimize(module, machine)
    return bytes(machine.emit_object(module))


def assembly(text: str, cpu: CpuTarget) -> str:
    """Return the assembly of a module, for people."""
    with llvm_lock():
        return shielded(_assemble, text, cpu)


def assembly_listing(text: str, cpu: CpuTarget) -> dict[str, Listing]:
    """Return the assembly of a module with the places of its lines, as more text of a stage."""
    return {"assembly": directive_listing(assembly(text, cpu))}


def _assemble(text: str, cpu: CpuTarget) -> str:
    machine = _machine(cpu)
    module = _parse(text, cpu, machine)
    _optimize(module, machine)
    return str(machine.emit_assembly(module))


# --- the disk-cache encoding of native code ----------------------------------------------------

SOURCES = (
    "base",
    "ir",
    "analysis",
    *(f"backend/{name}" for name in ("llvm", "libm", "cpu", "simt_cpu")),
)
"""All that this backend can run: what it may import, and itself."""


def codec_for(cpu: CpuTarget) -> ArtifactCodec:
    """Return the codec that stores code for one CPU in the disk cache."""
    return ArtifactCodec(
        facts=lambda func: facts(func, cpu),
        save=save,
        restore=lambda func, saved: restore(func, cpu, saved),
    )


def artifact(
    func: Func,
    cpu: CpuTarget,
    code: bytes,
    scratch_bytes: int,
    together: int,
    decisions: Sequence[str],
) -> Artifact:
    """Return the artifact of a function; all but the last four comes from the function itself."""
    return Artifact(
        name=func.name,
        target=f"cpu {cpu.name}",
        signature=func.signature,
        code=code,
        launch_checks=func.launch_checks,
        sites=sites_of(func),
        scratch_bytes=scratch_bytes,
        together=together,
        decisions=tuple(decisions),
    )


# What the code depends on.


def facts(func: Func, cpu: CpuTarget) -> Facts | None:
    """Return everything that can change the object file; None where that cannot be said."""
    fixed = _fixed(cpu)
    if fixed["sources"] is None:
        return None
    try:
        return {**fixed, "kernel": func.name, "ir": exact_text(func)}
    except NotExactError:
        return None


@cache
def _fixed(cpu: CpuTarget) -> dict[str, Fact]:
    """Return the part of the cache key that all kernels share."""
    return {
        "made": "cpu object",
        "sources": source_hash(*SOURCES),
        "cpu": cpu.name,
        "features": cpu.features,
        "triple": cpu.triple,
        "scratch_limit": cpu.scratch_limit,
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": str(llvmlite.__version__),
        "python": ".".join(map(str, sys.version_info)),
        "numpy": np.__version__,
        "ml_dtypes": str(ml_dtypes.__version__),
    }


# What is saved of it.


def save(func: Func, made: Artifact) -> Saved:
    """Return the object file with the plan's facts that launches need."""
    assert isinstance(made.code, bytes)
    places = _places(func)
    metadata: dict[str, object] = {
        "symbol": made.name,
        "scratch_bytes": made.scratch_bytes,
        "together": made.together,
        "decisions": [_without_places(line, places) for line in made.decisions],
    }
    return Saved(metadata, made.code)


def _places(func: Func) -> dict[str, int]:
    """Return the source location of every op, and the first op at that location."""
    found: dict[str, int] = {}
    for number, op in enumerate(func.walk()):
        if op.span is not None:
            found.setdefault(op.span.place, number)
    return found


def _without_places(line: str, places: Mapping[str, int]) -> list[str | int]:
    """Return a line with op numbers for locations: the same code may move in its file."""
    if not places:
        return [line]
    longest_first = sorted(places, key=len, reverse=True)
    parts = re.split(rf"({'|'.join(map(re.escape, longest_first))})(?!\d)", line)
    return [places[part] if i % 2 else part for i, part in enumerate(parts)]


# How it comes back.


def restore(func: Func, cpu: CpuTarget, saved: Saved) -> Artifact:
    """Return the artifact of a function from the saved one of an equal function, or raise."""
    scratch = saved.metadata.get("scratch_bytes")
    if saved.metadata.get("symbol") != func.name:
        raise ValueError("not the code of this kernel")
    if type(scratch) is not int or not 0 <= scratch <= cpu.scratch_limit:
        raise ValueError(f"not a size: {scratch!r}")
    together = saved.metadata.get("together")
    if type(together) is not int or together < 1:
        raise ValueError(f"not a number of blocks: {together!r}")
    decisions = _decisions(func, saved.metadata.get("decisions"))
    return artifact(func, cpu, saved.code, scratch, together, decisions)


def _decisions(func: Func, lines: object) -> list[str]:
    ops = list(func.walk())
    places = [op.span.place if op.span is not None else "no place" for op in ops]
    return ["".join(_part(part, places) for part in _list(line)) for line in _list(lines)]


def _part(part: object, places: Sequence[str]) -> str:
    if type(part) is int and 0 <= part < len(places):
        return places[part]
    if isinstance(part, str):
        return part
    raise ValueError(f"not a part of a line: {part!r}")


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"not a list: {value!r}")
    return cast("list[object]", value)


def summary(made: Artifact) -> str:
    """Return the text of the last stage: the target and the decisions."""
    return "\n".join([f"{made.name} for {made.target}", *made.decisions]) + "\n"

"""The command `python -m benchmarks.gpu.compiled`: what checks cost, and what compiling takes.

Kernels are compiled for a GPU; none is needed. Writes compiled.json and compiled.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tilewright as tw
from tilewright.compile.inspect import stage_times
from tilewright.ir.artifact import Artifact
from tilewright.launch.inspection import Inspection

from ..__main__ import TRIALS
from ..machine import describe, version
from ..table import table
from .meta import CALLS, Call

ARCH = "sm_90"
TIMED = ("softmax", "layer_norm", "GEMM", "GEMM, persistent", "attention, causal")
"""The kernels whose compilation is timed."""
RUNS = 3

SAFETY = """\
Each kernel as it is, and the same source under `unsafe=True, unchecked_accesses=True`, compiled for
the same arguments. Where all checks are proved, or made by the host at launch, the machine code is
the same byte for byte, and so is its speed.
"""


@dataclass(frozen=True, slots=True)
class Twins:
    """A safe kernel beside its unchecked twin."""

    checks: str
    """Where the safe one's checks went."""
    code_bytes: int
    """The size of its machine code, in its container."""
    same: bool
    """Whether the other's is the same, byte for byte."""


def twins(call: Call, arch: str) -> Twins:
    """Compile both."""
    entry: Any = tw.entry(unsafe=True, unchecked_accesses=True)
    unchecked = entry(call.kernel.__wrapped__)
    safe: Artifact = call.kernel.compile_for(arch, *call.arguments(), **call.constants)
    other: Artifact = unchecked.compile_for(arch, *call.arguments(), **call.constants)
    assert isinstance(safe.code, bytes), "code for GPUs is a file"
    checks = call.kernel.checks(*call.arguments(), device=arch, **call.constants)
    return Twins(str(checks), len(safe.code), safe.code == other.code)


def compile_times(call: Call) -> dict[str, float]:
    """Return the seconds of each stage, the least of a few runs."""
    inner = call.kernel.kernel  # the signature that a launch would have
    signature = Inspection(inner, call.arguments(), call.constants, ARCH).signature
    runs = [stage_times(call.kernel.source, signature, ARCH) for _ in range(RUNS)]
    return {stage: min(run[stage] for run in runs) for stage in runs[0]}


def markdown(
    machine: Mapping[str, str],
    safety: Mapping[str, Twins],
    compiled: Mapping[str, Mapping[str, float]],
) -> str:
    """The whole page."""
    return "\n".join(_lines(machine, safety, compiled)) + "\n"


def _lines(
    machine: Mapping[str, str],
    safety: Mapping[str, Twins],
    compiled: Mapping[str, Mapping[str, float]],
) -> Iterator[str]:
    yield from ("# Kernels compiled for a GPU", "")
    yield from table(("machine", ""), list(machine.items()))
    yield from ("", "## Safe against unchecked", "", SAFETY)
    rows = [
        [name, each.checks, f"{each.code_bytes}", "the same bytes" if each.same else "another"]
        for name, each in safety.items()
    ]
    yield from table(["kernel", "its checks", "bytes of code", "code of the unchecked twin"], rows)
    yield from ("", "## Compiling", "", f"Seconds of each stage, the least of {RUNS} runs.", "")
    stages = list(dict.fromkeys(s for times in compiled.values() for s in times))
    times = [[name, *(f"{t.get(s, 0.0):.3f}" for s in stages)] for name, t in compiled.items()]
    yield from table(["kernel", *stages], times)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 1 if a check costs something."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.compiled", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="part of a name")
    parser.add_argument("--out", type=Path, default=TRIALS, help="folder for the results")
    given = parser.parse_args(arguments)
    machine = {**describe(), "nvidia-cuda-tileiras": version("nvidia-cuda-tileiras")}
    chosen = [n for n in CALLS if not given.only or any(part in n for part in given.only)]
    safety: dict[str, Twins] = {}
    for number, name in enumerate(chosen, 1):
        safety[name] = twins(CALLS[name], ARCH)
        print(f"[{number}/{len(chosen)}] {name}: {safety[name]}", flush=True)
    compiled = {name: compile_times(CALLS[name]) for name in TIMED if name in chosen}
    data = {
        "machine": machine,
        "safety": {name: asdict(each) for name, each in safety.items()},
        "compile": compiled,
    }
    place: Path = given.out
    place.mkdir(parents=True, exist_ok=True)
    (place / "compiled.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (place / "compiled.md").write_text(markdown(machine, safety, compiled), encoding="utf-8")
    return 0 if all(each.same for each in safety.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())

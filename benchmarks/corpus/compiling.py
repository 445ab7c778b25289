"""Compiles our kernels of the corpus for a GPU that need not be there; tells what they need."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import tilewright as tw

from ..table import table
from .case import Call, Row, Shape

Work = Sequence[tuple[Row, Shape, str]]


@dataclass(frozen=True, slots=True)
class Compiled:
    """What one launch of ours needs."""

    row: str
    held_out: bool
    shape: str
    dtype: str
    setting: str
    kernel: str
    seconds: float
    registers: int = 0
    stack: int = 0
    shared: int = 0
    checks: str = ""
    problem: str = ""


def calls(row: Row, shape: Shape, dtype: str) -> Iterator[tuple[str, Call]]:
    """The launches of a row in each setting, on tensors without memory."""
    data = row.make(shape, dtype, "meta")
    given = [_meta(each) for each in (*data.outs, *data.scratch, *data.inputs)]
    for setting in data.ours:
        text = ", ".join(f"{name}={value}" for name, value in setting.items())
        for each in row.launches(*given, **setting):
            if isinstance(each, Call):
                yield text, each


def _meta(value: Any) -> Any:
    if not hasattr(value, "data_ptr"):
        return value
    return tw.meta(tuple(value.shape), DTYPES[str(value.dtype)])


DTYPES: dict[str, Any] = {
    "torch.bfloat16": tw.bf16, "torch.float16": tw.f16, "torch.float32": tw.f32,
    "torch.int8": tw.i8, "torch.uint8": tw.u8, "torch.int32": tw.i32, "torch.int64": tw.i64,
    "torch.float8_e4m3fn": tw.f8e4m3fn,
}  # fmt: skip


def compiled(row: Row, shape: Shape, dtype: str, text: str, each: Call, arch: str) -> Compiled:
    """Compile one launch."""
    size, begin = "x".join(map(str, shape)), time.perf_counter()
    common = row.name, row.held_out, size, dtype, text, each.kernel.__name__
    try:
        each.kernel.compile_for(arch, *each.args, **each.constants)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"[:600]
        return Compiled(*common, time.perf_counter() - begin, problem=why)
    seconds = time.perf_counter() - begin
    facts = _facts(each.kernel.explain(*each.args, device=arch, **each.constants))
    return Compiled(*common, seconds, **facts)


MACHINE = re.compile(
    r"machine code: .*?(\d+) registers and (\d+) bytes of stack per thread"
    r"(?:, (\d+) bytes of shared)?"
)
CHECKS = re.compile(r"^proved: .*$", re.MULTILINE)


def _facts(text: str) -> dict[str, Any]:
    """What `explain` says of registers, stack, shared memory and checks."""
    found, checks = MACHINE.search(text), CHECKS.search(text)
    numbers = (0, 0, 0) if found is None else tuple(int(each or 0) for each in found.groups())
    facts: dict[str, Any] = dict(zip(("registers", "stack", "shared"), numbers, strict=True))
    return {**facts, "checks": checks.group() if checks else ""}


def _all(item: tuple[Row, Shape, str], arch: str) -> list[Compiled]:
    row, shape, dtype = item
    try:
        return [compiled(row, shape, dtype, text, each, arch) for text, each in calls(*item)]
    except Exception as error:
        size = "x".join(map(str, shape))
        why = f"{type(error).__name__}: {error}"[:600]
        return [Compiled(row.name, row.held_out, size, dtype, "", "", 0.0, problem=why)]


def run(work: Work, arch: str, place: Path, threads: int) -> int:
    """Compile everything and write what was found; 1 if something does not compile."""
    found: list[Compiled] = []
    with ThreadPoolExecutor(threads) as pool:
        for number, some in enumerate(pool.map(partial(_all, arch=arch), work), 1):
            found += some
            for each in some:
                print(f"[{number}/{len(work)}] {_line(each)}", flush=True)
            text = json.dumps([asdict(each) for each in found], indent=1) + "\n"
            (place / f"corpus_{arch}.json").write_text(text, encoding="utf-8")
    (place / f"corpus_{arch}.md").write_text("\n".join(_page(found, arch)) + "\n", encoding="utf-8")
    return 1 if any(each.problem for each in found) else 0


def _line(each: Compiled) -> str:
    where = f"{each.row} {each.shape} {each.dtype} {each.setting} {each.kernel}"
    if each.problem:
        return f"{where}: {each.problem}"
    spilled = f"  SPILLS {each.stack} bytes" if each.stack else ""
    return f"{where}: {each.seconds:.1f} s, {each.registers} registers{spilled}"


def _page(found: Sequence[Compiled], arch: str) -> Iterator[str]:
    heads = (
        "row", "shape", "dtype", "tile", "kernel", "seconds", "registers", "stack", "shared",
        "checks",
    )  # fmt: skip
    yield from (f"# Our kernels of the corpus, compiled for {arch}", "", "## With a stack", "")
    yield from table(heads, [_cells(each) for each in found if each.stack])
    yield from ("", "## Not compiled", "")
    yield from [f"- {_line(each)}" for each in found if each.problem] or ["none"]
    yield from ("", "## Longest", "")
    slow = sorted(found, key=lambda each: -each.seconds)[:20]
    yield from table(heads, [_cells(each) for each in slow])
    yield from ("", "## All", "")
    yield from table(heads, [_cells(each) for each in found])


def _cells(each: Compiled) -> list[str]:
    return [
        each.row, each.shape, each.dtype, each.setting, each.kernel, f"{each.seconds:.2f}",
        str(each.registers), str(each.stack), str(each.shared), each.checks,
    ]  # fmt: skip

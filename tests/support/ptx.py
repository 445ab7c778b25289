"""A few instructions of PTX, run by some threads on words of memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.ptx.launch import PtxCode, run
from simulator.ptx.memory import MemorySegment, MemorySpan, PtxMemory
from simulator.ptx.program import parse

START = 1 << 20
"""The address of the memory."""
HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = """\
.reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %d<40>;
ld.param.b64 %d0, [base]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 8; add.s64 %d2, %d0, %d1;
"""
"""%r0 is the number of the thread, %d2 the address of its word, %d0 that of the first."""


def module_of(body: str, declared: str = "", before: str = "") -> str:
    """A kernel with a body; it returns at its end."""
    return (
        f"{HEAD}{declared}\n.visible .entry kernel(.param .u64 base)\n"
        f"{{\n{REGISTERS}{before}\n{body}\nret;\n}}\n"
    )


def run_text(
    text: str, words: Any, block: int, *, grid: int = 1, dynamic: int = 0, writable: bool = True
) -> np.ndarray[Any, Any]:
    """What memory holds after a launch; `words` is what it holds before, of 64 bits each."""
    data = np.array(words, np.uint64).view(np.uint8)
    room = np.zeros(len(data) + 16, np.uint8)
    room[: len(data)] = data
    memory = PtxMemory(
        [MemorySegment(START, room[: len(data)])], [MemorySpan(START, START + len(data), writable)]
    )
    code = PtxCode(parse(text), "kernel")
    run(code, [START], (grid, 1, 1), (block, 1, 1), memory, dynamic=dynamic)
    return room[: len(data)].view(np.uint64)


def run_body(body: str, words: Any, block: int | None = None, **given: Any) -> Any:
    """The same for the body of a kernel."""
    count = len(words) if block is None else block
    declared = given.pop("declared", "")
    return run_text(module_of(body, declared), words, count, **given)


def evaluate(instruction: str, kind: str, *operands: Any) -> Any:
    """Results of an instruction, one per thread; its operands are $1, $2, ..., its result $0.

    `kind` is the letter of the register that the result goes to: p, h, r or d.
    """
    count = len(operands[0])
    rows = np.zeros((count, len(operands) + 1), np.uint64)
    for number, values in enumerate(operands):
        bits = np.asarray(values)
        rows[:, number + 1] = bits.view(f"uint{8 * bits.dtype.itemsize}")
    stride = 8 * (len(operands) + 1)
    lines = [f"mul.wide.u32 %d30, %r0, {stride}; add.s64 %d30, %d0, %d30;"]
    text = instruction
    for number, values in enumerate(operands, 1):
        letter, bits = _letter(np.asarray(values).dtype.itemsize)
        lines.append(f"ld.global.b{bits} {letter}{number}, [%d30+{8 * number}];")
        text = text.replace(f"${number}", f"{letter}{number}")
    lines.append(text.replace("$0", f"%{kind}9"))
    if kind == "p":
        lines += ["selp.b32 %r9, 1, 0, %p9;"]
    size = {"p": 32, "h": 16, "r": 32, "d": 64}[kind]
    name = "%r9" if kind == "p" else f"%{kind}9"
    lines.append(f"st.global.b{size} [%d30], {name};")
    body = "\n".join(lines)
    made = run_text(module_of(body), rows.reshape(-1), count).reshape(count, -1)[:, 0]
    return made.astype(f"uint{size}")


def _letter(itemsize: int) -> tuple[str, int]:
    return {2: ("%h", 16), 4: ("%r", 32), 8: ("%d", 64)}[itemsize]

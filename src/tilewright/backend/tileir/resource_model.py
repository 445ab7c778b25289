"""Resources of a cubin and of a multiprocessor, and a model of how fast a kernel can be.

Limits are those of the CUDA programming guide. Bandwidths and numbers of multiprocessors are those
of the largest chip of an architecture; latencies are of loads from DRAM, unloaded.

A multiprocessor runs as many blocks as its registers, shared memory and threads hold. Their loads
in flight, over the latency of the memory, are the bandwidth they can use (Little's law). The code
of a kernel says how many loads a thread starts before it waits (`memory_code`). It also says how
many instructions there are for each byte, of which a multiprocessor starts only so many in a
nanosecond: the smaller of both parts of the bandwidth is the speed (a roofline of bytes in flight
and of instructions).

The model ranks candidates of one kernel; it does not predict times. A kernel that spills in a loop,
or more than a few of its values, is worse than any that spills less, whatever else is true of it.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...base.cubin import sections
from .choices import Choices
from .target import TileTarget

# --- the resources of a multiprocessor, and the bandwidth of memory, by architecture ------------


@dataclass(frozen=True, slots=True)
class Processor:
    """One multiprocessor, and its part of the memory."""

    since: int
    """The first architecture that this holds for, as a number."""
    threads: int
    blocks: int
    shared_bytes: int
    bandwidth: float
    """Bytes per nanosecond, of one multiprocessor."""
    latency: float
    """Nanoseconds."""
    issued: float = 7.0
    """Instructions of warps that start in a nanosecond: one in each of four parts, at 1.75 GHz."""
    registers: int = 65536
    code_bytes: int = 128 << 10
    """The instruction cache."""

    @property
    def needed_bytes(self) -> float:
        """Bytes that must be in flight to use the bandwidth (Little's law)."""
        return self.bandwidth * self.latency


PROCESSORS = (
    Processor(120, threads=1536, blocks=24, shared_bytes=100 << 10, bandwidth=9.5, latency=650),
    Processor(100, threads=2048, blocks=32, shared_bytes=228 << 10, bandwidth=54.0, latency=750),
    Processor(90, threads=2048, blocks=32, shared_bytes=228 << 10, bandwidth=36.4, latency=700),
    Processor(86, threads=1536, blocks=24, shared_bytes=100 << 10, bandwidth=7.9, latency=600),
    Processor(80, threads=2048, blocks=32, shared_bytes=164 << 10, bandwidth=18.9, latency=600),
)
"""Newest first."""


def processor_of(target: TileTarget) -> Processor:
    """Return the newest description that is not newer than the target."""
    return next(p for p in PROCESSORS if target.number >= p.since)


# -------------------------------------------------------------------------------------------------
# What a cubin declares about its kernels.

INFO, SHARED, CODE = ".nv.info", ".nv.shared.", ".text."
SIZED = 4
"""Attributes whose value has a length before it."""
FRAME_SIZE, REGISTERS, BLOCK_SHAPE = 0x11, 0x2F, 0x10
"""Attributes: bytes and registers per thread of a kernel, and the threads of a block by axis."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel needs: registers and stack per thread, shared memory per block, code.

    Values that do not fit into registers spill to the stack.
    """

    registers: int
    stack_bytes: int
    shared_bytes: int
    code_bytes: int
    threads: int = 0
    """Threads of a block, those included that only copy; 0 if the cubin does not say."""


def resources(cubin: bytes) -> Resources:
    """Return the largest resources that any kernel of a cubin needs."""
    found: dict[int, int] = {}
    shared = code = threads = 0
    for section in sections(cubin):
        if section.name == INFO:
            for attribute, value in _attributes(section.data):
                if len(value) == 8:
                    number = struct.unpack("<II", value)[1]
                    found[attribute] = max(found.get(attribute, 0), number)
        elif section.name.startswith(INFO):
            threads = max(threads, _threads(section.data))
        elif section.name.startswith(SHARED):
            shared = max(shared, section.nbytes)
        elif section.name.startswith(CODE):
            code += section.nbytes
    return Resources(found.get(REGISTERS, 0), found.get(FRAME_SIZE, 0), shared, code, threads)


def _threads(data: bytes) -> int:
    """Return the threads of a block that a kernel demands; 0 if it does not."""
    shapes = [v for a, v in _attributes(data) if a == BLOCK_SHAPE and len(v) == 12]
    sizes = [x * y * z for x, y, z in (struct.unpack("<III", shape) for shape in shapes)]
    return max(sizes, default=0)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes that have a length, and their values."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, length = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == SIZED:
            yield attribute, data[at : at + length]
            at += length


# -------------------------------------------------------------------------------------------------
# What the machine code of a cubin does with memory, instruction by instruction.
#
# Since Volta an instruction has 16 bytes: its operation in the lowest 12 bits, and control bits
# at the top, by which the compiler tells the processor what to wait for. A load takes one of six
# scoreboards; a later instruction names the scoreboards it waits for. So the code itself says how
# many loads a warp starts before it waits for the first.

Words: TypeAlias = Sequence[tuple[int, int]]
"""Instructions, in two halves."""
INSTRUCTION = struct.Struct("<QQ")
OPERATION = 0xFFF
LOAD, STORE, COPY, BULK_COPY = 0x981, 0x986, 0xFAE, 0x5B4
"""LDG; STG; LDGSTS, an asynchronous copy into the shared memory; UTMALDG, a bulk copy."""
BRANCH = 0x947
"""BRA."""
SPILL_LOAD, SPILL_STORE = 0x983, 0x387
"""LDL and STL: accesses of the stack."""
WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}
"""Bytes per thread, by the field of an access."""
WIDTH_BIT, TAKES_BIT, WAITS_BIT = 9, 46, 52
"""Fields of the upper 8 bytes: the width, the scoreboard taken, those waited for."""
SCOREBOARDS = 6


@dataclass(frozen=True, slots=True)
class MemoryCode:
    """The accesses in the machine code of one kernel."""

    loaded_ahead: int
    """The most bytes that a thread has asked for before it waits for the first of them."""
    copied: int
    """Bytes per thread in all asynchronous copies."""
    bulk_copies: int
    spills: int
    """Accesses of the stack."""
    instructions: int
    loop_bytes: int = 0
    """Bytes that a thread loads in an iteration of the loop that loads most per instruction."""
    loop_instructions: int = 0
    """The instructions of that loop; 0 if no loop loads."""
    looped_spills: int = 0
    """Accesses of the stack that are in a loop."""


def memory_code(cubin: bytes) -> MemoryCode:
    """Return the accesses in the machine code of a cubin."""
    code = b"".join(s.data for s in sections(cubin) if s.name.startswith(CODE))
    pending = [0] * SCOREBOARDS
    ahead = copied = bulk = spills = 0
    whole = len(code) - len(code) % INSTRUCTION.size
    words = list(INSTRUCTION.iter_unpack(code[:whole]))
    for low, high in words:
        operation, waits = low & OPERATION, high >> WAITS_BIT
        pending = [0 if waits >> k & 1 else n for k, n in enumerate(pending)]
        width = WIDTHS.get(high >> WIDTH_BIT & 7, 0)
        if operation == LOAD:
            taken = high >> TAKES_BIT & 7
            if taken < SCOREBOARDS:
                pending[taken] += width
                ahead = max(ahead, sum(pending))
        elif operation == COPY:
            copied += width
        elif operation == BULK_COPY:
            bulk += 1
        elif operation in (SPILL_LOAD, SPILL_STORE):
            spills += 1
    loops = _loops(words)
    looped = {at for first, last in loops for at in range(first, last + 1)}
    in_loops = sum(words[at][0] & OPERATION in (SPILL_LOAD, SPILL_STORE) for at in looped)
    nbytes, length = _busiest_loop(words, loops)
    return MemoryCode(ahead, copied, bulk, spills, len(words), nbytes, length, in_loops)


def _busiest_loop(words: Words, loops: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return bytes and instructions of the innermost loop that loads most per instruction."""
    found = (0, 0)
    for first, last in _innermost(loops):
        body = words[first : last + 1]
        widths = [WIDTHS.get(high >> WIDTH_BIT & 7, 0) for low, high in body
                  if low & OPERATION in (LOAD, COPY)]  # fmt: skip
        nbytes = sum(widths)
        if nbytes * max(found[1], 1) > found[0] * len(body):
            found = nbytes, len(body)
    return found


def _loops(words: Words) -> list[tuple[int, int]]:
    """Return the first and last instruction of each loop: branches that lead back."""
    backward = [
        (at + 1 + _distance(*word), at)
        for at, word in enumerate(words)
        if word[0] & OPERATION == BRANCH and _distance(*word) < 0
    ]
    return [(first, last) for first, last in backward if first >= 0]


def _innermost(loops: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the loops that have no loop inside."""
    return [
        (first, last)
        for first, last in loops
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in loops)
    ]


def _distance(low: int, high: int) -> int:
    """Return how many instructions a branch leads ahead of the next one."""
    upper = low >> 34 | (high & 0x3FFFF) << 30
    upper -= (upper & 1 << 47) << 1
    return (upper << 8 | low >> 16 & 0xFF) * 4 // INSTRUCTION.size


# --- A model of resources and memory-level parallelism -----------------------------------------

WARP = 32
WARPS = (4, 8)
"""Warps of a block for which the assembler makes good code."""
REGISTER_UNIT = 8
"""Registers of a thread are allocated in units of this many."""
RESERVED_BYTES = 1 << 10
"""Shared memory of each block that the system takes."""
PHASES = 2.0
"""Blocks load, then compute and store: about half of the time nothing of a block is in flight."""
SLIGHT = 16
"""Bytes of stack per thread that cost no more than a few instructions."""
SLIGHT_PART = 1 / 20
"""The part of the instructions that accesses of the stack are, outside of loops, which is slight as
well: they are there in the time that instructions take."""
TOLERANCE = 0.05
"""Candidates whose use of the bandwidth differs less than this are equal in it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of a candidate once it is compiled."""

    resources: Resources
    code: MemoryCode
    has_products: bool = False
    """Whether it waits for products rather than for memory."""
    blocks_of_launch: int | None = None
    """The blocks that a launch puts on a multiprocessor, if no more than that."""
    loaded_bytes: int | None = None
    """What a block loads in all; None if it loads in a loop."""
    stored_bytes: int = 0
    """What a block stores that loads in no loop."""
    versions: int = 1
    """How many versions of the kernel the code has; each block runs one."""
    load_depth: int = 1
    """How many loads follow each other, of which each needs the result of the one before."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The terms of the model for one candidate."""

    blocks: int
    """Blocks that are resident on a multiprocessor."""
    warps: int
    """Their warps."""
    spilled_bytes: int
    """Bytes of stack per thread."""
    bytes_in_flight: int
    """Bytes that these blocks have asked for at most."""
    bandwidth: float
    """The part of the bandwidth that these can use; 1 is all of it."""
    fetched: float
    """The part of the machine code that the instruction cache holds."""
    issued: float
    """The part of the bandwidth for which instructions start in time."""
    slight: bool = False
    """Whether what is spilled costs little."""

    @property
    def is_good(self) -> bool:
        """Whether no other candidate can be much better.

        Blocks of few warps share the instructions that do not depend on a thread among the fewest.
        """
        issued = self.issued if self.warps > WARPS[0] * self.blocks else 1.0
        speed = min(self.bandwidth, issued) * self.fetched
        return not self.spilled_bytes and speed > 1 - TOLERANCE

    @property
    def speed(self) -> float:
        """The part of the bandwidth of memory that is possible."""
        return min(self.bandwidth, self.issued) * self.fetched

    def text(self, report: Report) -> str:
        """Return the terms in a line."""
        found, kib = report.resources, self.bytes_in_flight / 1024
        return (
            f"{found.registers} registers, {self.blocks} blocks of {found.threads} threads,"
            f" {self.spilled_bytes} bytes spilled, {kib:.0f} KiB of loads in flight,"
            f" {found.code_bytes / 1024:.0f} KiB of code; can reach {self.speed:.0%} of the"
            f" bandwidth of memory (loads in flight {self.bandwidth:.0%}, instruction issue"
            f" {self.issued:.0%}, instruction cache {self.fetched:.0%})"
        )


def estimate(report: Report, processor: Processor) -> Estimate:
    """Return the terms of the model."""
    found, code = report.resources, report.code
    blocks = resident_blocks(found, processor, found.threads)
    if report.blocks_of_launch is not None:
        blocks = min(blocks, report.blocks_of_launch)
    of_block = code.loaded_ahead * found.threads + _copied(report)
    needed = PHASES * report.load_depth * processor.needed_bytes
    if report.loaded_bytes is not None:
        # The code has versions, of which each block runs one.
        of_block = min(of_block, report.loaded_bytes)
        # Blocks of little work cannot ask for more.
        most = processor.threads // (WARPS[0] * WARP)
        needed = min(needed, most * report.loaded_bytes)
    in_flight = blocks * of_block
    allowed = min(1.0, in_flight / needed) if needed else 1.0
    return Estimate(
        blocks=blocks,
        warps=blocks * found.threads // WARP,
        spilled_bytes=found.stack_bytes,
        bytes_in_flight=in_flight,
        bandwidth=1.0 if report.has_products else allowed,
        fetched=min(1.0, processor.code_bytes / max(found.code_bytes, 1)),
        issued=1.0 if report.has_products else _issued(report, processor),
        slight=found.stack_bytes <= SLIGHT or _spills_little(code),
    )


def _spills_little(code: MemoryCode) -> bool:
    """Return whether few of the instructions are accesses of the stack, and none in a loop."""
    return not code.looped_spills and code.spills <= SLIGHT_PART * code.instructions


def _issued(report: Report, processor: Processor) -> float:
    """Return the part of the bandwidth for which instructions start in time."""
    found, code = report.resources, report.code
    if report.loaded_bytes is None:
        # Of a loop: what each warp loads with its instructions.
        nbytes, instructions = code.loop_bytes * WARP, code.loop_instructions
    else:
        nbytes = report.loaded_bytes + report.stored_bytes
        instructions = code.instructions // report.versions * max(found.threads // WARP, 1)
    if not instructions or not nbytes:
        return 1.0
    return min(1.0, nbytes / instructions * processor.issued / processor.bandwidth)


def _copied(report: Report) -> int:
    """Return the bytes of a block that asynchronous copies have in flight; they have room there."""
    found, code = report.resources, report.code
    if code.bulk_copies:
        return found.shared_bytes
    # Each version has separate copies, with separate room, and a block runs one of them.
    return min(code.copied * found.threads, found.shared_bytes) // report.versions


def resident_blocks(found: Resources, processor: Processor, threads: int) -> int:
    """Return how many blocks of so many threads fit on a multiprocessor."""
    threads = max(threads, WARP)
    registers = -(-max(found.registers, 1) // REGISTER_UNIT) * REGISTER_UNIT
    return min(
        processor.registers // (registers * threads),
        processor.threads // threads,
        processor.shared_bytes // (found.shared_bytes + RESERVED_BYTES),
        processor.blocks,
    )


def rank(estimate: Estimate) -> tuple[float, ...]:
    """Return the sort key of candidates, best first: spills, then memory, then hidden latency.

    Equal candidates keep their order, in which the default is the first.
    """
    steps = round(estimate.speed / TOLERANCE)
    spilled = estimate.spilled_bytes if estimate.spilled_bytes > SLIGHT else 0
    costly = 0 if estimate.slight else spilled
    return (estimate.blocks == 0, costly, -steps, spilled, -estimate.warps)


# -------------------------------------------------------------------------------------------------
# Candidates around a default, from what its compilation reports.

MOST = 6
MOST_REGISTERS = 255
LEAST_REGISTERS = 32
FEWER = (2, 4)
"""Half of the threads that a multiprocessor can have leave each 64 registers, a quarter 128."""
ADDRESSES = 24
"""Registers of a thread that do not hold elements of tiles, about."""


def candidates(
    default: Choices,
    report: Report | None,
    processor: Processor,
    fixed: Collection[str],
    forms: Sequence[Mapping[str, bool]] = (),
) -> list[Choices]:
    """Return choices that may be better than the default, the most promising first.

    `fixed` are names of choices that do not change, `forms` other forms of the accesses. Without a
    report, of a default that could not be compiled, it is taken to need all registers there are.
    """
    spills = report is None or report.resources.stack_bytes > 0
    warps = default.num_worker_warps_per_cta or WARPS[0]
    numbers = (warps,) if "num_worker_warps_per_cta" in fixed else WARPS
    varied: list[Mapping[str, int]] = []
    if spills:
        # More warps first: each holds less. Then fewer blocks, which leave each more registers.
        fits = [(n, _fit(report, warps, n, processor)) for n in sorted(numbers, reverse=True)]
        sizes = [_size(n, fit - k) for n, fit in fits for k in (0, 1)]
        varied += sizes + [{**sizes[0], **form} for form in forms]
    else:
        # Other forms of the loads first, then fewer warps with more loads each, and more blocks.
        fits = [(n, _fit(report, warps, n, processor)) for n in sorted(numbers)]
        most = {n: processor.threads // (n * WARP) for n in numbers}
        sizes = [_size(n, min(fit + 1, most[n])) for n, fit in fits]
        if report is not None and report.code.copied:
            # Loads of later iterations begin if there are registers for what they are followed by.
            varied += [_size(n, fit // 2) for n, fit in fits if n == warps]
        if report is not None and report.loaded_bytes is not None:
            # Blocks that load once wait as often as they compute: many share a multiprocessor.
            varied += [
                _size(n, most[n] // parts)
                for parts in FEWER
                for n, fit in sorted(fits, key=lambda each: each[0] != warps)
                if fit < most[n] // parts
            ]
        varied += [*forms, sizes[0], *({**sizes[0], **form} for form in forms), *sizes]
    found = [_varied(default, each, fixed) for each in varied]
    return [c for c in dict.fromkeys(found) if c != default][:MOST]


def _fit(report: Report | None, warps: int, number: int, processor: Processor) -> int:
    """Return the number of blocks of so many warps that fit, if the default has so many warps.

    The registers that a thread would have used are those it has, and what it has spilled; those
    that hold elements of tiles are divided among more threads.
    """
    needed = MOST_REGISTERS
    if report is not None:
        needed = report.resources.registers + report.resources.stack_bytes // 4
    held = (needed - ADDRESSES) * warps / number + ADDRESSES
    registers = min(max(held, LEAST_REGISTERS), MOST_REGISTERS)
    return int(processor.registers / (number * WARP * registers))


def _size(warps: int, blocks: int) -> dict[str, int]:
    return {"num_worker_warps_per_cta": warps, "occupancy": max(blocks, 1)}


def _varied(default: Choices, given: Mapping[str, int], fixed: Collection[str]) -> Choices:
    free = {name: value for name, value in given.items() if name not in fixed}
    return Choices.of_mapping({**default.given, **free})

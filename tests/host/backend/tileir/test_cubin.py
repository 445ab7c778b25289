"""What a cubin says of itself, and what is none."""

from __future__ import annotations

import contextlib
import random

import pytest

from tilewright.backend.tileir.cubin import (
    CUDA,
    HEAD,
    MAGIC,
    NO_BITS,
    SECTION,
    InvalidCubinError,
    Resources,
    architecture,
    resources,
    sections,
)


def attribute(number, value):
    return bytes([4, number, 8, 0]) + (7).to_bytes(4, "little") + value.to_bytes(4, "little")


def cubin(flags=0x6005A04, machine=CUDA):
    """A file with the sections we read, as an assembler lays them out."""
    names = b"\0.shstrtab\0.nv.info\0.nv.shared.k\0"
    info = bytes([3, 1, 0, 0]) + attribute(0x2F, 40) + attribute(0x11, 16) + attribute(0x2F, 24)
    start = HEAD.size + len(names) + len(info)
    head = HEAD.pack(2, machine, 1, 0, 0, start, flags, HEAD.size, 0, 0, 64, 4, 1)
    rows = [
        (0, 0, 0, 0),
        (1, 3, HEAD.size, len(names)),
        (11, 1, HEAD.size + len(names), len(info)),
        (20, NO_BITS, 0, 4096),
    ]
    table = [SECTION.pack(n, kind, 0, 0, at, size).ljust(64, b"\0") for n, kind, at, size in rows]
    return MAGIC + head[4:] + names + info + b"".join(table)


def test_sections():
    assert [(s.name, len(s.data), s.nbytes) for s in sections(cubin())] == [
        ("", 0, 0), (".shstrtab", 33, 33), (".nv.info", 40, 40), (".nv.shared.k", 0, 4096),
    ]  # fmt: skip


def test_resources_are_those_of_the_neediest_kernel():
    assert resources(cubin()) == Resources(registers=40, stack_bytes=16, shared_bytes=4096)


@pytest.mark.parametrize(
    ("flags", "name"), [(0x6005004, "sm_80"), (0x6005A04, "sm_90"), (0x6007902, "sm_121")]
)
def test_architecture(flags, name):
    assert architecture(cubin(flags)) == name


@pytest.mark.parametrize("data", [b"", b"junk", MAGIC, cubin(machine=62)])
def test_what_is_no_cubin(data):
    with pytest.raises(InvalidCubinError):
        architecture(data)


def test_damaged_ones_are_refused_or_read():
    """Never anything but our own error."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    whole = cubin()
    for _ in range(2000):
        data = bytearray(whole[: rng.choice([len(whole), rng.randrange(len(whole))])])
        for _ in range(rng.randint(1, 6)):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        with contextlib.suppress(InvalidCubinError):
            resources(bytes(data)), architecture(bytes(data))

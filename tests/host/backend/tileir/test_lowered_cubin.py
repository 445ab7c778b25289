"""What a cubin says its kernels need, and what is none."""

from __future__ import annotations

import contextlib

import pytest

from support.elf import cubin, cubin_parts, elf, record
from support.mutants import mutants
from support.numbers import fresh_random
from tilewright.backend.tileir.lowered import is_cubin
from tilewright.backend.tileir.resource_model import Resources, resources
from tilewright.base.elf import MAGIC, InvalidElfError


def test_resources_are_those_of_the_neediest_kernel():
    parts = cubin_parts()
    parts[".nv.info"].data += bytes([3, 1, 0, 0]) + record(0x2F, 2, 24)
    assert resources(elf(list(parts.values()))) == Resources(
        registers=40, stack_bytes=16, shared_bytes=4096, code_bytes=32
    )


@pytest.mark.parametrize("data", [b"", b"junk", MAGIC, cubin(machine=62)])
def test_what_is_no_cubin(data):
    with pytest.raises(InvalidElfError):
        resources(data)


def test_what_begins_as_one():
    assert is_cubin(cubin()) and not is_cubin(b".version 7.0") and not is_cubin(None)


def test_damaged_ones_are_refused_or_read():
    """Never anything but our own error."""
    for mutant in mutants(cubin(), 2000, fresh_random()):
        with contextlib.suppress(InvalidElfError):
            resources(mutant)

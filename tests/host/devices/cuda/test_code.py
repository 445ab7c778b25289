from __future__ import annotations

import struct

import pytest

from support.elf import cubin
from support.mutants import mutants
from support.numbers import fresh_random
from tilewright.base.errors import DriverError
from tilewright.devices.cuda.code import FATBIN, is_machine_code, loadable

PTX = b".version 7.0\n.target sm_80\n"
CUBIN = cubin()


def fatbin(*entries):
    body = b"".join(struct.pack("<HHIQ", 2, 1, 16, len(code)) + code for code in entries)
    return struct.pack("<4sHHQ", FATBIN, 1, 16, len(body)) + body


def test_ptx_ends_with_a_zero():
    assert loadable(PTX) == PTX + b"\0"
    assert loadable(PTX + b"\0") == PTX + b"\0"


@pytest.mark.parametrize(
    "code", [CUBIN, fatbin(), fatbin(CUBIN), fatbin(b"compressed", CUBIN), fatbin(CUBIN) + b"more"]
)
def test_whole_ones_are_taken(code):
    assert loadable(code) == code
    assert is_machine_code(code) and not is_machine_code(PTX)


@pytest.mark.parametrize(
    "code",
    [
        b"", b"garbage", b"\x7fELF", CUBIN[:70], cubin(machine=62), FATBIN, fatbin(CUBIN)[:-1],
        fatbin(CUBIN[:-1]), fatbin(CUBIN)[:20], b".version of something else",
    ],
)  # fmt: skip
def test_what_the_driver_could_not_survive_is_refused(code):
    with pytest.raises(DriverError, match="cannot be loaded on a CUDA device") as caught:
        loadable(code)
    assert caught.value.got.startswith(f"{len(code)} bytes; ")


def test_fatbins_say_how_long_their_entries_are():
    code = bytearray(fatbin(CUBIN))
    code[20:24] = bytes(4)  # an entry without a header would never end
    with pytest.raises(DriverError, match="ends within an entry"):
        loadable(bytes(code))
    code = bytearray(fatbin(CUBIN))
    code[6] = 12
    with pytest.raises(DriverError, match="header has another size"):
        loadable(bytes(code))


def test_what_is_trusted_is_taken_as_it_is():
    assert loadable(CUBIN[:-1], trusted=True) == CUBIN[:-1]
    assert loadable(PTX, trusted=True) == PTX + b"\0"


@pytest.mark.parametrize("code", [CUBIN, fatbin(CUBIN)])
def test_damaged_ones_are_refused_or_taken(code):
    """Never anything but our own error."""
    refused = 0
    for mutant in mutants(code, 1000, fresh_random()):
        try:
            loadable(mutant)
        except DriverError:
            refused += 1
    assert refused > 500

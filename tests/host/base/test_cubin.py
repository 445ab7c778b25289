from __future__ import annotations

import struct

import pytest

from support.elf import Part, cubin, cubin_parts, elf, record, symbol
from support.mutants import mutants
from support.numbers import fresh_random
from tilewright.base.cubin import Cubin, architecture, read_cubin, sections
from tilewright.base.elf import InvalidElfError


def changed(name, **fields):
    parts = cubin_parts()
    for field, value in fields.items():
        setattr(parts[name], field, value)
    return elf(list(parts.values()))


def test_a_cubin_says_what_it_is_for_and_what_it_has():
    assert read_cubin(cubin()) == Cubin("sm_90", ("k",))


@pytest.mark.parametrize(
    ("flags", "system", "name"),
    [
        (0x6005004, 0x41, "sm_80"), (0x6007902, 0x41, "sm_121"), (0x50055A, 0x33, "sm_90"),
    ],
)  # fmt: skip
def test_architecture(flags, system, name):
    assert architecture(cubin(flags=flags, system=system)) == name


def test_older_ones_have_the_version_of_their_toolkit():
    assert read_cubin(cubin(flags=0x5A055A, system=0x33, version=0x80)).architecture == "sm_90"


def test_sections_can_be_had_of_less_than_whole_ones():
    code = changed(".nv.info", data=b"\0")
    assert [s.name for s in sections(code)][2] == ".strtab"


HOST_CODE = elf([Part(".symtab", 2, symbol(99), link=1, entry=24)], machine=62)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (cubin(machine=62), "for machine 62"),
        (cubin(system=0), "for system 0"),
        (cubin(kind=3), "no code that can be loaded"),
        (changed(".text.k", data=bytes(40)), "ends within an instruction"),
        (changed(".text.k", info=1), "code of no function"),
        (changed(".text.k", info=77), "code of no function"),
        (changed(".nv.info.k", info=5), "belongs to no code"),
        (changed(".nv.shared.k", info=99), "belongs to no code"),
        (changed(".nv.info", data=b"\4\x2f"), "ends within a record"),
        (changed(".nv.info", data=b"\4\x2f\x08\0"), "ends within a record"),
        (changed(".nv.info", data=b"\7\x2f\0\0"), "a record of no known form"),
        (changed(".nv.info", data=record(0x2F, 2)), "a record of a wrong size"),
        (changed(".nv.info", data=record(0x11, 9, 0)), "about a function that is not there"),
        (changed(".nv.callgraph", data=struct.pack("<I", 1), entry=0), "ends within a call"),
        (changed(".nv.callgraph", data=struct.pack("<II", 1, 30)), "a function that is not there"),
        (changed(".symtab", data=symbol() * 2 + symbol(1, 2, section=4)), "it has no kernel"),
        (changed(".symtab", data=symbol() * 2 + symbol(1, 2, 0x10)), "`k` has no code"),
        (changed(".symtab", data=symbol() * 2 + symbol(1, 2, 0x10, section=8)), "`k` has no code"),
        (elf([*cubin_parts().values(), Part(".nv.host", 0x70000087, b"")]), "no ELF file"),
        (elf([*cubin_parts().values(), Part(".nv.host", 0x70000087, HOST_CODE)]), "not among its"),
        (elf([*cubin_parts().values(), Part(".nv.host", 0x70000087, cubin())]), "lacks something"),
    ],
)  # fmt: skip
def test_what_the_driver_should_not_see(code, why):
    with pytest.raises(InvalidElfError, match=why):
        read_cubin(code)


def test_sections_have_no_addresses_yet():
    code = bytearray(cubin())
    at = int.from_bytes(code[40:48], "little") + 64 * 4 + 16
    code[at] = 1
    with pytest.raises(InvalidElfError, match="has an address already"):
        read_cubin(bytes(code))


def test_damaged_ones_are_refused_or_read():
    """Never anything but our own error."""
    refused = 0
    for mutant in mutants(cubin(), 2000, fresh_random()):
        try:
            assert isinstance(read_cubin(mutant), Cubin)
        except InvalidElfError:
            refused += 1
    assert refused > 1200

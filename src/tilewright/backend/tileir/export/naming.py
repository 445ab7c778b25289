"""Names for the parameters of a compiled kernel that are names in C too."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....ir.artifact import Artifact
from ....ir.signature import GlobalSpec, Signature
from ..abi import Slot, slots, symbol

KEYWORDS = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
    "unsigned", "void", "volatile", "while", "alignas", "alignof", "asm", "bool", "catch", "compl",
    "concept", "decltype", "delete", "explicit", "export", "false", "friend", "mutable",
    "namespace", "new", "noexcept", "nullptr", "operator", "private", "protected", "public",
    "requires", "template", "this", "throw", "true", "typeid", "typename", "typeof", "using",
    "virtual", "xor",
})  # fmt: skip
"""Words that C or C++ does not take as names."""
OURS = re.compile(r"record|nothing|grid_\d+|.*_(extent|stride)_\d+|global_.*")
"""What members are called that are no parameter themselves."""
ALONE = ("address", "scalar")
"""What is called as the parameter itself."""


def slots_of(artifact: Artifact) -> tuple[Slot, ...]:
    """The parameters of a compiled kernel."""
    return slots(artifact.signature, reports=bool(artifact.sites))


def field_names(signature: Signature, found: Sequence[Slot]) -> list[str]:
    """The name of each slot: `z`, `z_extent_0`, `grid_1`, `record`."""
    return [_name(signature, slot) for slot in found]


def extent_name(signature: Signature, param: str, axis: int) -> str:
    """The name of the slot of an extent, if it has one."""
    spec = next(s for s in signature.params if s.name == param)
    return f"{plain(spec.name)}_extent_{axis}"


def _name(signature: Signature, slot: Slot) -> str:
    if slot.what == "record":
        return "record"
    if slot.what == "grid":
        return f"grid_{slot.axis}"
    spec = signature.params[slot.param]
    name = plain(spec.name)
    if isinstance(spec, GlobalSpec):
        return f"global_{name}"
    return name if slot.what in ALONE else f"{name}_{slot.what}_{slot.axis}"


def plain(name: str) -> str:
    """A name that C takes, and that no member of another parameter has."""
    given = symbol(name)
    word = given.rstrip("_")  # so `record_`, which is free, does not meet what `record` becomes
    return f"{given}_" if word in KEYWORDS or OURS.fullmatch(word) else given

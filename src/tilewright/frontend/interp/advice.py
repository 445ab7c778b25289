"""Hints for names and calls that kernels do not have: what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from tilewright import lang

from ...lang.synonyms import SYNONYMS, hint
from ..rules import RULES

LOADED = "load a tile first, tl.load_tile_like(x, out)"
ON_HOST = ("reshape", "permute", "transpose", "T", "view", "flatten")
IN_MEMORY = ("Tensor", "TensorMut", "Partition", "PartitionMut")
OWN_TILE = (
    "a block stores its own tile whole, and what lies outside the tensor is dropped; to keep some"
    " elements: out.store(tl.where(mask, tile, out.load()))"
)
PADDED = "no mask is needed: what lies outside the tensor is padding, padding=..."
CALLS = {
    "TensorMut.store": OWN_TILE,
    "PartitionMut.store": OWN_TILE,
    "Tensor.load_tile": PADDED,
    "Partition.load": PADDED,
    "load_tile_like": PADDED,
    "arange": "steps are arithmetic: start + step * tl.arange(n)",
}
"""Hints for calls with other arguments than there are."""
CASTS = {
    "float": "f32", "double": "f64", "half": "f16", "bfloat16": "bf16", "int": "i32", "long": "i64",
    "short": "i16", "char": "i8", "byte": "u8", "bool": "bool_",
}  # fmt: skip
"""Methods of PyTorch that convert."""
KEYWORDS = {"dim": "axis", "keepdim": "keepdims", "input": "x", "other": "b"}
"""Keywords of PyTorch, and how they are called here."""


def for_call(key: str, given: Iterable[str], known: Collection[str]) -> str | None:
    """Return a hint for a call with arguments that a function does not take."""
    wrong = [name for name in given if name not in known]
    here = [f"{KEYWORDS[name]}=" for name in wrong if KEYWORDS.get(name) in known]
    return f"here it is {', '.join(here)}" if here else CALLS.get(key)


def near(name: str, known: Iterable[str]) -> str | None:
    """Return a hint with the nearest known name, or None."""
    close = difflib.get_close_matches(name, [k for k in known if not k.startswith("__")], 1, 0.75)
    return f"did you mean `{close[0]}`?" if close else None


def for_name(name: str, known: Collection[str]) -> str | None:
    """Return a hint for a name that is not bound: functions of the language are known as tl."""
    if name in dir(lang):
        return f"here it is tl.{name}"
    return near(name, known) or (hint(name, ()))


def for_function(name: str) -> str | None:
    """Return a hint for a name that the language does not have."""
    return hint(name, dir(lang))


def for_member(cls: str, name: str) -> str:
    """Return a hint for an attribute that the objects of a class do not have."""
    if cls == "PointerTile" and name in ("add", "sub"):
        return f"p {'+' if name == 'add' else '-'} i, or p.offset(i)"
    if cls == "Accumulator" and name in ("load", "load_tile", "load_at", "partition"):
        return "a kernel cannot read what its blocks add to: load it in a later launch"
    known = [k.partition(".")[2] for k in RULES if k.startswith(f"{cls}.")]
    others = sorted({k.partition(".")[0] for k in RULES if k.partition(".")[2] == name})
    if cls == "Tile":
        found = _of_tile(name)
    elif cls in IN_MEMORY and ("Tile" in others or _of_tile(name)):
        found = f"{LOADED}; or launch on a view, x.reshape or x.permute on the host"
        found = found if name in ON_HOST else LOADED
    else:
        found = None
    listed = f"`{name}` exists on {', '.join(others)}" if others else ""
    return found or near(name, known) or listed or f"{cls} has {', '.join(sorted(known))}"


def _of_tile(name: str) -> str | None:
    """Return the equivalent here of a method that arrays of other libraries have."""
    if name in CASTS:
        return f"here it is x.astype(tw.{CASTS[name]})"
    if name in dir(lang) and not isinstance(getattr(lang, name), type):
        return f"here it is tl.{name}(x)"
    return f"here it is {SYNONYMS[name]}" if name in SYNONYMS else None

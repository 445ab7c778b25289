"""What a compilation depends on, as one record, and the difference between two of them in words."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeGuard

from ..ir.constants import constant_kind
from ..ir.signature import ParamSpec, Signature
from .options import CompileOptions


@dataclass(frozen=True, slots=True)
class Key:
    """Everything that can change the code of one kernel, captured names aside."""

    signature: Signature
    target: str
    options: CompileOptions
    kinds: tuple[object, ...] = ()
    """What the constants are besides their values: True and 1 are equal, but not the same."""

    @classmethod
    def of(cls, signature: Signature, target: str, options: CompileOptions) -> Key:
        """The key of a compilation."""
        kinds = tuple([constant_kind(value) for _, value in signature.constants])
        return cls(signature, target, options, kinds)


def differences(old: Key, new: Key) -> list[str]:
    """Each fact in which two keys differ, as `what: old -> new`."""
    found: list[str] = []
    before = {p.name: p for p in old.signature.params}
    now = {p.name: p for p in new.signature.params}
    for name in {**before, **now}:
        if name in before and name in now:
            found += _param(before[name], now[name])
        else:
            found.append(f"{name}: given -> None" if name in before else f"{name}: None -> given")
    constants = dict(old.signature.constants)
    for name, value in new.signature.constants:
        if repr(constants.get(name)) != repr(value):
            found.append(f"constant {name}: {constants.get(name)!r} -> {value!r}")
    facts: tuple[tuple[str, object, object], ...] = (
        ("const_grid", old.signature.grid, new.signature.grid),
        ("grid rank", old.signature.grid_rank, new.signature.grid_rank),
        ("target", old.target, new.target),
        ("options", old.options, new.options),
    )
    return found + [f"{what}: {a} -> {b}" for what, a, b in facts if a != b]


def _param(a: ParamSpec, b: ParamSpec) -> list[str]:
    if type(a) is not type(b):
        return [f"{a.name}: {type(a).__name__} -> {type(b).__name__}"]
    names = [f.name for f in fields(a) if f.name != "name"]
    pairs = [(name, getattr(a, name), getattr(b, name)) for name in names]
    return [f"{b.name}.{n}: {_text(x)} -> {_text(y)}" for n, x, y in pairs if x != y]


def _text(value: object) -> str:
    if _is_tuple(value):
        inner = ", ".join("?" if v is None else str(v) for v in value)
        return f"({inner})"
    return str(value)


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)

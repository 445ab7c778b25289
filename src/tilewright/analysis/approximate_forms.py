"""Approximate forms of functions, for results of which not every bit matters.

`passes.needed_precision` notes on a function how many bits of its result must be kept. Each code
generator has a table of what is faster there than the exact form, and how many bits that keeps;
`form_of` takes the fastest that keeps enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from ..base.shapes import shape_text
from ..base.source import where
from ..ir.attrs import Rounding
from ..ir.core import Op

W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Form(Generic[W]):
    """A form of a function: the bits it keeps, what it is, and what writes it."""

    bits: int
    text: str
    write: W
    rounding: Rounding | None = None
    """The rounding that the op must have, if any."""

    def serves(self, op: Op) -> bool:
        """Return whether this form keeps enough bits of an op."""
        enough = 0 < op.attrs.get("bits", 0) <= self.bits
        return enough and self.rounding in (None, op.attrs.get("rounding"))


Forms: TypeAlias = Mapping[str, Sequence[Form[W]]]
"""The approximate forms of each function, the fastest first."""


def form_of(forms: Forms[W], op: Op) -> Form[W] | None:
    """Return the form of a function that keeps enough bits; None where the exact one must be."""
    return next((form for form in forms.get(op.name, ()) if form.serves(op)), None)


def note_of(op: Op, form: Form[W]) -> str:
    """Return a line for `explain()`."""
    shape = shape_text(op.result.tile.shape) or "one element"
    bits = op.attrs["bits"]
    return f"{op.name} of {shape} as {form.text}, {bits} bits of it are needed{where(op.span)}"

"""How a launch borrows what it is given while argument ops must run first: at once, as any launch.

What the ops give is bound, with all the rest, when they have run; until then these borrows stand
for those that the launch will have.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..base.errors import BorrowError
from ..frontend.capture.parameters import Parameter
from ..op.core import is_op
from ..op.lazy import Lazy, all_parts
from ..op.place import Location, here, place_of
from ..tensors.arc import Arc
from ..tensors.ownership import Ours
from ..tensors.partition import Partition
from ..tensors.pledges import Pledge, is_lent, pledge_of
from ..tensors.pointer import DevicePointer

if TYPE_CHECKING:
    from .protocol import Launchable

MOST_LOOKED_AT = 256
"""Parts of argument ops that are looked at where a launch is built; further ones when they run."""

MEMORY = ("output", "tensor")
"""Kinds of parameters that take memory."""


def pledge_arguments(
    kernel: Launchable, args: Sequence[Any], location: Location
) -> Sequence[Pledge]:
    """Borrow all arguments that are there; raises where two of them, or an op, conflict."""
    found: list[tuple[Parameter, Pledge]] = []
    ends_others = False
    for p, arg in zip(kernel.source.parameters, args, strict=False):
        if p.kind in MEMORY and not is_op(arg):
            pledge = pledge_of(arg, kernel.name, location, writes=_is_written(p, arg))
            if pledge is not None:
                found.append((p, pledge))
                ends_others |= pledge.ticket.exclusive or not pledge.ends_nothing
    if len(found) > 1:
        _refuse_conflicts(kernel.name, found)
    if ends_others:
        for op in args:
            if is_op(op):
                _check_parts(op)
    return [pledge for _, pledge in found]


def _is_written(p: Parameter, arg: object) -> bool:
    """Return whether a tensor was moved into a launch that writes it whole."""
    return p.kind == "output" and isinstance(arg, Ours) and not isinstance(arg, Arc | Partition)


def _check_parts(op: Lazy[Any]) -> None:
    """Raise if an op that must run first cannot any more: the launch has borrowed what it uses."""
    for part in islice(all_parts(op), MOST_LOOKED_AT):
        part.check_standing()


def _refuse_conflicts(kernel: str, found: Sequence[tuple[Parameter, Pledge]]) -> None:
    for i, (p, one) in enumerate(found):
        for q, other in found[i + 1 :]:
            written = [each.kind == "output" for each in (p, q)]
            if any(written) and one.region.meets(other.region):
                raise conflict(kernel, p.name, q.name, twice=all(written))


IN_PLACE = (
    "give the output its own tensor; a kernel that works in place takes the output alone, and reads"
    " it, as out.load() does"
)


def conflict(kernel: str, one: str, other: str, *, twice: bool) -> BorrowError:
    """Describe the error that two arguments share memory that is written."""
    what = "write one tensor twice" if twice else "write and read one tensor"
    return BorrowError(
        f"`{kernel}` would {what}: `{one}` and `{other}` are the same storage",
        places=(("here", place_of(here())),),
        hint="give each output its own tensor" if twice else IN_PLACE,
    )


def is_lent_argument(p: Parameter, arg: object, references: int) -> bool:
    """Return whether a launch only borrows an argument, to which it refers `references` times.

    Arrays of other libraries are always borrowed.
    """
    if isinstance(arg, Ours):
        return is_lent(arg, references + 1)
    return p.kind in MEMORY and not isinstance(arg, DevicePointer) and not is_op(arg)

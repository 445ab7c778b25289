"""Rules of the slices family: elements read by any index, written by a witness alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...base.errors import Code
from ...ir import Value
from ...ir.launch_expr import show
from ..elements import inside, place_in_run, run_at, stored_element
from ..emit import Emitter, describe
from ..values import ElementRef, ElementsRef, RunRef, RunsRef, SliceRef


def _read(em: Emitter, self: SliceRef, index: Any) -> Value:
    """Any element, checked."""
    at = em.index(index, f"an index of `{self.name}`")
    return em.emit("load_slice", self.value, at, inside(em, self, at))


def _read_own(em: Emitter, self: SliceRef, index: Any) -> Value:
    at = _witness(em, self, index, "read")
    return em.emit("load_slice", self.value, at, inside(em, self, at))


def _write_own(em: Emitter, self: SliceRef, index: Any, value: Any) -> None:
    if not self.mutable:
        _read_only(em, self)
    at = _witness(em, self, index, "written")
    stored = stored_element(em, self.name, self.type.dtype, value)
    em.op("store_slice", stored, self.value, at, inside(em, self, at))


def _elements(em: Emitter, self: SliceRef) -> ElementsRef:
    return ElementsRef(self)


def _read_any(em: Emitter, self: ElementsRef, index: Any) -> Value:
    em.require_unsafe(f"reading {describe(self)}")
    return _read(em, self.slice, index)


def _write_any(em: Emitter, self: ElementsRef, index: Any, value: Any) -> None:
    em.require_unsafe(f"writing {describe(self)}")
    at = em.index(index, f"an index of `{self.name}`")
    stored = stored_element(em, self.name, self.slice.type.dtype, value)
    em.op("store_slice", stored, self.slice.value, at, inside(em, self.slice, at))


def _at(em: Emitter, self: ElementsRef, index: Any) -> ElementRef:
    return ElementRef(self.slice, (em.index(index, f"an index of `{self.name}`"),))


def _runs(em: Emitter, self: SliceRef, size: Any) -> RunsRef:
    number = em.static_int(size, "the size of a run")
    if number < 1:
        em.fail(Code.SHAPE, "a run has at least one element", expected="1 or more", got=str(number))
    return RunsRef(self, number)


def _run(em: Emitter, self: RunsRef, index: Any) -> RunRef:
    if self.slice.mutable:
        witness = _witness(em, self.slice, index, "cut into runs", self.size)
        return run_at(em, self, witness)
    return run_at(em, self, em.index(index, f"an index of the runs of `{self.name}`"))


def _read_of_run(em: Emitter, self: RunRef, index: Any) -> Value:
    at, there = place_in_run(em, self, index)
    return em.emit("load_slice", self.runs.slice.value, at, there)


def _write_to_run(em: Emitter, self: RunRef, index: Any, value: Any) -> None:
    ref = self.runs.slice
    if not ref.mutable:
        _read_only(em, ref)
    stored = stored_element(em, ref.name, ref.type.dtype, value)
    at, there = place_in_run(em, self, index)
    em.op("store_slice", stored, ref.value, at, there)


def _read_only(em: Emitter, ref: SliceRef) -> NoReturn:
    em.fail(
        Code.READ_ONLY,
        f"{describe(ref)} is read only",
        expected="a simt.DisjointSlice",
        got="a simt.Slice",
        hint="annotate the parameter simt.DisjointSlice and pass z.borrow_mut()",
    )


def _witness(em: Emitter, ref: SliceRef, index: Any, verb: str, size: int = 1) -> Value:
    if not isinstance(index, Value) or index not in em.witnesses:
        em.fail(
            Code.WITNESS,
            f"{describe(ref)} is {verb} at an index that is no witness",
            expected="what simt.index_1d() or simt.index_2d(width) gave, unchanged",
            got=describe(index),
            hint="each thread has the element of its own index; a simt.Slice may be read at any,"
            f" and so may {ref.name}.elements in unsafe code",
        )
    known = em.run_sizes.setdefault(ref.name, size)
    if known != size:
        em.fail(
            Code.WITNESS,
            f"{describe(ref)} is cut in two ways, in which threads would meet",
            expected=f"runs of {known}" if known > 1 else "single elements, as before",
            got=f"runs of {size}" if size > 1 else "a single element",
        )
    width = em.witnesses[index]
    if width is not None:
        _same_width(em, ref, width)
    return index


def _same_width(em: Emitter, ref: SliceRef, width: Any) -> None:
    """Two threads may have one index if their rows have different widths."""
    known = em.widths.setdefault(ref.name, width)
    if known != width:
        em.fail(
            Code.WITNESS,
            f"{describe(ref)} is indexed by witnesses of two widths",
            expected=f"simt.index_2d({show(known)})",
            got=f"simt.index_2d({show(width)})",
        )


def _dtype(em: Emitter, self: SliceRef) -> Any:
    return self.type.dtype


RULES: dict[str, Callable[..., Any]] = {
    "Slice.__getitem__": _read,
    "Slice.__setitem__": _write_own,
    "DisjointSlice.__getitem__": _read_own,
    "DisjointSlice.__setitem__": _write_own,
    "DisjointSlice.elements": _elements,
    "Elements.__getitem__": _read_any,
    "Elements.__setitem__": _write_any,
    "Elements.at": _at,
    "Slice.runs": _runs,
    "DisjointSlice.runs": _runs,
    "Runs.__getitem__": _run,
    "Run.__getitem__": _read_of_run,
    "Run.__setitem__": _write_to_run,
    "Slice.dtype": _dtype,
    "DisjointSlice.dtype": _dtype,
}
PROPERTIES: frozenset[str] = frozenset(
    ("Slice.dtype", "DisjointSlice.dtype", "DisjointSlice.elements")
)

"""Emits non-temporal stores, in launches whose outputs do not fit the caches."""

from __future__ import annotations

from ....base.cpu_abi import LaunchWord
from ....ir.types import Elem
from ..functions.text import Value as Vec
from ..plan.nontemporal import LINE, nontemporal_stores
from .access import alignment, perform_if, store_dense, to_memory
from .emitter import Emitter
from .grid import launch_word

LONG = 32 << 10
"""Bytes of a row whose first and last lines do not matter."""
X86_FENCE = "@llvm.x86.sse.sfence()"


def begin(emitter: Emitter) -> None:
    """Ask the launch once, before all blocks."""
    if nontemporal_stores(emitter.plan):
        word = emitter.load(launch_word(emitter, LaunchWord.STREAM), "i64", align=8)
        emitter.cached = word.eq(0).cast("sext", "i64")


def is_nontemporal(emitter: Emitter, first: Vec, length: Vec, lanes: int, elem: Elem) -> Vec:
    """Whether a row of neighbouring elements goes past the caches: a scalar.

    If the launch wants it, the row's vectors are aligned, and it fills its lines; one that is
    written in two ways costs more than is saved, unless it is one of very many.
    """
    assert emitter.cached is not None, "the launch has been asked"
    size = alignment(elem)
    place = emitter.body.emit(f"ptrtoint {first} to i64", "i64", 1)
    end = place + length * size
    # No address is zero: in a launch that does not stream, none is aligned enough.
    aligned = (place & (emitter.cached | (min(lanes * size, LINE) - 1))).eq(0)
    return aligned & (((place | end) & (LINE - 1)).eq(0) | (length >= LONG // size))


def store_nontemporal(emitter: Emitter, past: Vec, value: Vec, address: Vec, elem: Elem) -> None:
    """Neighbouring elements, past the caches or through them."""
    stored = to_memory(value, elem)
    align = min(stored.lanes * alignment(elem), LINE)
    past_, through, after = (emitter.label(word) for word in ("past", "through", "stored"))
    emitter.branch(past, past_, through)
    emitter.body.label(past_)
    emitter.do(f"store {stored}, {address}, align {align}, !nontemporal !0")
    emitter.body.jump(after)
    emitter.body.label(through)
    store_dense(emitter, value, address, elem)
    emitter.body.jump(after)
    emitter.body.label(after)


def metadata(emitter: Emitter) -> list[str]:
    """What `!nontemporal` refers to."""
    return [] if emitter.cached is None else ["!0 = !{i32 1}"]


def end(emitter: Emitter) -> None:
    """Let no later store of this thread be seen before those that went past the caches."""
    if emitter.cached is None:
        return
    fence = "fence seq_cst"
    if emitter.cpu.is_x86:
        emitter.body.declarations.add(f"declare void {X86_FENCE}")
        fence = f"call void {X86_FENCE}"
    perform_if(emitter, emitter.cached.eq(0), lambda: emitter.do(fence))

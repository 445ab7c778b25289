"""Which memory ops touch, by parameter, and what raw pointers may touch."""

from __future__ import annotations

import tilewright as tw
from ir_text import kernel, parse
from tilewright import f32, simt
from tilewright.analysis.structure import NOTHING, POINTERS, MemoryEffects, memory_of, memory_of_all
from tilewright.frontend.interp.build import build
from tilewright.launch.inspection import Inspection

BODY = """
%v = make_view %x {tile=(4), dim_map=(0)}
%o = make_view %z {tile=(4), dim_map=(0)}
%a = load_view %v, %n
if %c {
  store_view %a, %o, %n
  yield
} else {
  atomic_red_view %a, %o, %n
  yield
}
return
"""


def test_views_name_their_parameter_and_regions_count():
    func = parse(kernel(BODY))
    load, branch = func.body.ops[2], func.body.ops[3]
    assert memory_of(load) == MemoryEffects(frozenset("x"))
    assert memory_of(branch) == MemoryEffects(frozenset("z"), frozenset("z"))
    assert memory_of(func.body.ops[0]) == NOTHING
    whole = memory_of_all(func.body.ops)
    assert whole.all == {"x", "z"}
    assert whole.disturbs("z")
    assert not whole.disturbs("x")


def test_slices_name_their_parameter():
    @simt.kernel
    def copy(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
        i = simt.index_1d()
        if i < len(out):
            out[i] = x[i]

    args = (tw.meta((64,), f32).borrow_mut(), tw.meta((64,), f32))
    func = build(copy.source, Inspection(copy.kernel, args, {}).signature)
    (load,) = (op for op in func.walk() if op.name == "load_slice")
    (store,) = (op for op in func.walk() if op.name == "store_slice")
    assert memory_of(load) == MemoryEffects(frozenset(("x",)))
    assert memory_of(store) == MemoryEffects(writes=frozenset(("out",)))


def test_pointers_may_be_anything():
    func = parse(kernel("%a = load_ptr %p\nstore_ptr %p, %a\nreturn"))
    load, store = func.body.ops[:2]
    assert memory_of(load) == MemoryEffects(frozenset((POINTERS,)))
    assert memory_of(store).disturbs("x")
    assert not memory_of(load).disturbs("x")


def test_a_tensor_made_from_a_pointer_is_pointer_memory():
    func = parse(
        kernel(
            """
            %t = make_tensor %p {shape=(16), strides=(1), mutable=True}
            %v = make_view %t {tile=(4), dim_map=(0)}
            %a = load_view %v, %n
            store_view %a, %v, %m
            return
            """
        )
    )
    assert memory_of_all(func.body.ops).writes == {POINTERS}
    assert MemoryEffects(frozenset(), frozenset("z")).disturbs(POINTERS)

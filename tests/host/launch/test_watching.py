"""Who is watching sees each kind of launch once, before its code is made."""

from __future__ import annotations

import tilewright as tw
import tilewright.lang as tl
from tilewright.launch.inspection import Inspection
from tilewright.launch.watching import watching


def make():
    @tw.entry
    def scale(z: tl.TensorMut, x: tl.Tensor, factor: tw.f32, *, TWICE: tl.Const[bool] = False):
        tile = tl.load_tile_like(x, z) * factor
        z.store(tile + tile if TWICE else tile)

    return scale


def launched(kernel, n, tile, **constants):
    with tw.device("reference"):
        z, x = tw.zeros((n,)).sync(), tw.ones((n,)).sync()
        kernel(z.partition_mut((tile,)), x, 2.0, **constants).sync()


def test_each_kind_once():
    seen, kernel = [], make()
    with watching(lambda needed: seen.append(needed) if needed.kernel.name == "scale" else None):
        launched(kernel, 100, 16)
        launched(kernel, 100, 16)
        launched(kernel, 100, 32)
        launched(kernel, 100, 16, TWICE=True)
    launched(kernel, 100, 64)
    assert [needed.grid for needed in seen] == [(7, 1, 1), (4, 1, 1), (7, 1, 1)]
    assert len({Inspection.of_launch(needed, "sm_90").signature for needed in seen}) == 3


def test_where_memory_lies_is_seen():
    """A GPU has other code for a part of a tensor that begins anywhere, and needs it there."""
    seen, kernel = [], make()
    with watching(seen.append), tw.device("reference"):
        z, x = tw.zeros((100,)).sync(), tw.ones((100,)).sync()
        for first in (0, 1):
            part = z.borrow_mut()[first : first + 50 + first]
            kernel(part.partition((16,)), x[4 : 54 + first], 2.0).sync()
    facts = [
        [spec.facts.alignment for spec in Inspection.of_launch(n, "sm_90").signature.params[:2]]
        for n in seen
        if n.kernel.name == "scale"
    ]
    assert facts == [[16, 16], [1, 16]]


def test_the_signature_is_that_of_compile_for():
    """So what is compiled ahead is found by the launch, and by who compiles for such arguments."""
    seen, kernel = [], make()
    with watching(seen.append):
        launched(kernel, 100, 16)
    needed = [n for n in seen if n.kernel.name == "scale"][-1]
    z = tw.meta((100,))
    asked = Inspection(kernel.kernel, (z.partition_mut((16,)), z, 2.0), {}, "sm_90").signature
    assert Inspection.of_launch(needed, "sm_90").signature == asked

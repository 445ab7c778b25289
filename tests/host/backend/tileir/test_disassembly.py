"""The text of NVIDIA's disassembler, and the lines of Python in it."""

from __future__ import annotations

from tilewright.backend.tileir.disassembly import with_places
from tilewright.base.stage import Place

TEXT = """// Producer: tilewright
entry @scale(%arg0: tile<ptr<f32>>) {
  %0 = make_token : token loc(#loc8)
  %1 = mulf %0, %0 : tile<16xf32> loc(#loc16)
  %2 = addf %1, %1 : tile<16xf32>
} loc(#loc8)
#di_file = #cuda_tile.di_file<"kernels.py" in "/srv/project">
#di_file1 = #cuda_tile.di_file<"others.py" in "/srv">
#loc = loc("kernels.py":11:9)
#loc3 = loc("others.py":7:12)
#di_subprogram = #cuda_tile.di_subprogram<file = #di_file, line = 11, name = "scale">
#di_subprogram1 = #cuda_tile.di_subprogram<file = #di_file1, line = 11, name = "double">
#loc8 = #cuda_tile.di_loc<#loc in #di_subprogram>
#loc11 = #cuda_tile.di_loc<#loc3 in #di_subprogram1>
#loc16 = loc(callsite(#loc11 at #loc8))
"""


def test_places_and_calls():
    listing = with_places(TEXT)
    assert len(listing.lines) == 6 and "loc(" not in listing.text
    here = Place("/srv/project/kernels.py", 11, 9)
    assert listing.places == (
        (), (), (here,), (Place("/srv/others.py", 7, 12), here), (), (here,),
    )  # fmt: skip


def test_what_has_no_places():
    assert with_places("entry @f() {\n} loc(#loc99)\n").places == ((), ())

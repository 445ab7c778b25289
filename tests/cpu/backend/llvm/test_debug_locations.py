"""Lines of Python in LLVM, and read back from what is made of it."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.backend.llvm.debug_locations import DebugLocations, directive_listing, llvm_listing
from tilewright.backend.llvm.object import assembly, host_target
from tilewright.base.config import override
from tilewright.base.source import SourceFile, Span
from tilewright.base.stage import Place
from tilewright.compile.pipeline import compile_kernel
from tilewright.compile.runner import Runner
from tilewright.launch.inspection import Inspection

ODD = 'dir/od"d \\ ü.py'


def text_of(name=ODD):
    """Return a module of two lines from two places."""
    file = SourceFile(name, "x\ny\nz")
    locations = DebugLocations('ker"nel')
    spans = [Span(file, 2, 4, 2, 6), Span(file, 3, 0, 3, 1)]
    lines = ["  %a = fadd float %x, %x", "  store float %a, ptr %p", "next:", "  ret void"]
    body = locations.located([*lines[:2], "  br label %next", *lines[2:]],
                             [(0, None), (1, spans[0]), (4, spans[1])])  # fmt: skip
    head = f"define void @f(ptr %p, float %x) {locations.subprogram} {{"
    return "\n".join([head, *body, "}", *locations.metadata(), ""])


def test_each_instruction_has_the_latest_place():
    listing = llvm_listing(text_of())
    assert [places for places in listing.places if places] == [
        (Place(ODD, 2, 5),), (Place(ODD, 2, 5),), (Place(ODD, 3, 1),),
    ]  # fmt: skip
    assert "!dbg" not in listing.text and "!DI" not in listing.text
    assert listing.lines[0] == "define void @f(ptr %p, float %x) {"


def test_llvm_takes_it_and_assembly_names_the_lines():
    listing = directive_listing(assembly(text_of("dir/kernels.py"), host_target()))
    found = dict(zip(listing.lines, listing.places, strict=True))
    store = next(line for line in found if "ss" in line and "(%rdi)" in line)
    assert found[store] == (Place("dir/kernels.py", 2, 5),)
    assert ".loc" not in listing.text


@tw.entry
def computing(z: tl.TensorMut[f32, tl.Dyn, tl.Dyn], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    t = tl.load_tile_like(x, z)
    total = tl.reduce_sum(t, 1, keepdims=True)
    for k in range(tl.num_blocks(0)):
        t = t * total + tl.exp(t)
    z.store(t)


@pytest.mark.cpu_alone
def test_places_change_no_instruction():
    z = tw.meta((100, 70))
    look = Inspection(computing.kernel, (z.partition_mut((16, 32)), z), {}, "cpu")
    texts = []
    for lines in (False, True):
        with override(line_info=lines):
            runner = Runner("computing", keep=True, store=None, results={})
            compile_kernel(look._kernel.captured, look.signature, "cpu", runner, look._options)
        assert runner.results is not None
        made = runner.results["llvm"]
        text = assembly(made.text, host_target())  # type: ignore[attr-defined]
        # Labels are numbered, and directives are no instructions.
        code = [re.sub(r"\.L\w+", "label", line) for line in text.splitlines()]
        texts.append([line for line in code if re.match(r"\t[a-z]", line)])
    plain, located = texts
    assert plain == located and len(plain) > 200

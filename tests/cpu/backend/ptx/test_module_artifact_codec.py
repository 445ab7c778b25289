"""PTX comes back from the disk as it went there, and nothing else is taken for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.ir import Kernel
from tilewright import f32, simt
from tilewright.backend.ptx import module
from tilewright.backend.ptx.module import PtxTarget, Written
from tilewright.base.config import override
from tilewright.base.stage import Saved
from tilewright.compile.store import current_store, stats
from tilewright.tools.command import main


def waves(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = tl.sin(x[i])


def compiled(arch="sm_90"):
    # A new kernel, since what this process has made of another is not looked for on disk.
    return simt.kernel(waves).compile_for(arch, tw.meta((9,)).borrow_mut(), tw.meta((9,)))


@pytest.fixture
def cache(tmp_path):
    with override(cache_dir=str(tmp_path / "cache")):
        yield


def counted():
    return stats().hits, stats().misses


@pytest.mark.usefixtures("cache")
def test_what_was_made_is_found_again(capsys):
    before = counted()
    first, again = compiled(), compiled()
    assert first == again
    assert counted() == (before[0] + 1, before[1] + 1)
    compiled("sm_80")
    assert counted() == (before[0] + 1, before[1] + 2)
    assert main(["cache", "ls"]) == 0
    listed = capsys.readouterr().out
    assert listed.count("waves") == 2 and "sm_90" in listed and "sm_80" in listed


@pytest.mark.usefixtures("cache")
def test_other_functions_are_other_code():
    with override(libdevice="off"):
        own = compiled()
    before = counted()
    compiled()
    assert counted()[1] == before[1] + (own.decisions != compiled().decisions)


@pytest.mark.usefixtures("cache")
def test_a_damaged_entry_is_made_again():
    made = compiled()
    (file,) = current_store().entries()
    path = next(current_store().root.rglob(f"{file.name}*"))
    path.write_bytes(path.read_bytes().replace(b".entry", b".extry"))
    assert compiled() == made


MADE = Written(Kernel("waves").finish(), "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metadata": {"symbol": "other", "arch": "sm_90"}}, "not the code"),
        ({"metadata": {"symbol": "waves", "arch": "sm_80"}}, "not the code"),
        ({"code": b".target sm_80\n.visible .entry waves(\n"}, "another architecture"),
        ({"code": b".target sm_90\n.visible .entry other(\n"}, "not an entry"),
        ({"code": b".target sm_90\n.visible .entry waves(\n.visible .entry more(\n"}, "alone"),
        ({"code": b"\xff\xfe"}, "ascii"),
    ],
)
def test_what_is_not_its_code_is_refused(change, said):
    saved = Saved({"symbol": "waves", "arch": "sm_90"}, b".target sm_90\n.visible .entry waves(\n)")
    with pytest.raises(ValueError, match=said):
        module.restore(MADE, PtxTarget("sm_90"), replace(saved, **change))

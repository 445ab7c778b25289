"""The rows of the GPU benchmark without a GPU: shapes stand for data, and launches are announced.

`make gpu-pack` compiles what is announced here, so a benchmark elsewhere finds its kernels.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

import tilewright as tw
from benchmarks import peers
from benchmarks.gpu import rows
from benchmarks.gpu.case import HINTED, OURS, PERSISTENT, Entry
from benchmarks.gpu.ours import DTYPES
from benchmarks.gpu.rows import ROWS
from tilewright.compile.options import CompileOptions
from tilewright.launch.inspection import Inspection, announce
from tilewright.launch.watching import watching

ARCH = "sm_90"


class Shaped:
    """A tensor of torch as far as rows know it before they run."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = tuple(shape), dtype

    def to(self, dtype):
        return Shaped(self.shape, dtype)

    def new_full(self, shape, value):
        return Shaped(shape, self.dtype)


TORCH = SimpleNamespace(
    **{name.removeprefix("torch."): name for name in DTYPES},
    randn=lambda shape, device, dtype: Shaped(shape, dtype),
    nn=SimpleNamespace(functional=SimpleNamespace(rms_norm=None, layer_norm=None)),
)


def announced(kernel, out, tile, *inputs, groups=None, options=None, **constants):
    """An entry that says what it would launch."""

    def run():
        output = tw.meta(out.shape, DTYPES[out.dtype]).partition_mut(tile)
        given = [tw.meta(i.shape, DTYPES[i.dtype]) if isinstance(i, Shaped) else i for i in inputs]
        mapped = output if groups is None else output.map(groups)
        wanted = CompileOptions(**options) if options else None
        announce(kernel.kernel, (mapped, *given), constants, wanted)

    return Entry(run, out)


@pytest.fixture
def shapes_alone(monkeypatch):
    monkeypatch.setattr(peers, "torch", lambda: TORCH)
    monkeypatch.setattr(rows, "entry", announced)
    monkeypatch.setitem(sys.modules, "torch.nn.attention", ModuleType("torch.nn.attention"))


@pytest.mark.parametrize("name", ROWS)
def test_what_a_row_launches_can_be_compiled_ahead(name, shapes_alone):
    seen = []
    contestants = ROWS[name].make().contestants
    with watching(seen.append):
        for who in {OURS, PERSISTENT, HINTED} & contestants.keys():
            for entry in contestants[who]():
                entry.run()
    signatures = {(n.request, Inspection.of_launch(n, ARCH).signature) for n in seen}
    assert len(signatures) == len(seen) > 0, "each setting is code of its own"

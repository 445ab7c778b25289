"""Random kernels of many kinds become cubins; so do those on which assemblers have failed."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

import tilewright as tw
import tilewright.lang as tl
from fuzz.wild.campaign import conduct
from fuzz.wild.running import AGREES
from support import tiers
from support.numbers import fresh_seed
from tilewright import bool_, i32
from tilewright.backend.tileir import selection
from tilewright.backend.tileir import stages as tileir
from tilewright.backend.tileir.lowered import CAREFUL, Defeat, restore, save
from tilewright.backend.tileir.toolchain import Ended
from tilewright.base.config import override
from tilewright.base.errors import CompileError
from tilewright.frontend.capture.sources import execute

QUICK = 551_935
"""The first seed in the quick tier: there are programs that take tileiras half a minute."""


def test_all_become_cubins(tool, pytestconfig):
    count = pytestconfig.getoption("--kernels") // 2
    first = tiers.count(quick=QUICK, full=fresh_seed() % 1_000_000)
    workers = tiers.count(quick=1, full=2)
    campaign = conduct("assembler", count, first, workers, seconds=300, shrinks=20)
    assert campaign.counts[AGREES] >= count * 0.7, campaign.counts
    assert not campaign.bad, "\n\n".join(program.shown() for program, _ in campaign.bad)


# --- arms that give truth values -----------------------------------------------------------------


@tw.entry
def opposites(z: tl.TensorMut, n: i32) -> None:
    if n > 1:
        found = tl.full((4,), True, bool_)
    else:
        found = tl.full((4,), False, bool_)
    z.store(found)


@tw.entry
def folded(z: tl.TensorMut, n: i32) -> None:
    low = tl.arange(4) < 2
    if n > 1:
        found = ~(low ^ low)
    else:
        if n == 0:
            found = tl.broadcast(tl.full((1,), True, bool_), (4,))
        else:
            found = low ^ low
    z.store(found)


@tw.entry
def counted(z: tl.TensorMut, n: i32) -> None:
    found = tl.full((4,), False, bool_)
    for i in range(n):
        if i == 2:
            found = tl.full((4,), True, bool_)
        else:
            found = tl.full((4,), False, bool_)
    z.store(tl.broadcast(tl.reduce_sum(found, 0, keepdims=True), (4,)) > 0)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("kernel", [opposites, folded, counted])
def test_arms_may_give_true_and_false(tool, kernel, arch):
    made = kernel.compile_for(arch, tw.meta((16,), tw.bool_).partition_mut((4,)), 1)
    assert made.code[:4] == b"\x7fELF"
    assert CAREFUL not in made.decisions


# --- arms that give what is outside --------------------------------------------------------------


@tw.entry
def passed_on(z: tl.MappedPartitionMut, x: tl.Tensor, n: i32) -> None:
    for index in z.iter_indices():
        v = x.partition((4,), padding=3).load([index[0]])
        halves = tl.reduce_sum(v.reshape(2, 2), 0)
        other = v + 1
        if n < 3:
            found = tl.cat(halves, halves, 0)
        else:
            found = other
        z.store(found + v, index)


@tw.entry
def compared(z: tl.MappedPartitionMut, x: tl.Tensor, n: i32) -> None:
    for index in z.iter_indices():
        v = x.partition((4, 4)).load(index)
        turned = tl.permute(v, (1, 0))
        low, high = tl.reduce_min(turned, 0, keepdims=True), tl.reduce_max(turned, 1, keepdims=True)
        other = low - v
        if n >= 3:
            found = tl.minimum(v, high + low)
        else:
            found = other
        z.store(found, index)


@tw.entry
def toggled(z: tl.MappedPartitionMut, x: tl.Tensor, n: i32) -> None:
    for index in z.iter_indices():
        first = x.partition((1, 256)).load(index).reshape(16, 8, 1, 2)
        found = first
        i = 0
        while i < 1:
            if n > 2:
                other = first
            else:
                other = found
            found = found ^ other
            i += 1
        z.store(found.reshape(1, 256), index)


@pytest.mark.thinned(3)
@pytest.mark.filterwarnings("ignore::tilewright.base.errors.PaddingWarning")
@pytest.mark.parametrize("dtype", [tw.i8, tw.bf16, tw.f64])
@pytest.mark.parametrize(("kernel", "rank"), [(passed_on, 1), (compared, 2)])
def test_arms_may_give_what_is_outside(tool, kernel, rank, dtype):
    """An assembler that crashes on these gets them again, lowered with care."""
    z, x = tw.meta((12,) * rank, dtype), tw.meta((13,) * rank, dtype)
    part = z.partition_mut((4,) * rank).map((1,) * rank)
    made = kernel.compile_for("sm_90", part, x, 1)
    assert made.code[:4] == b"\x7fELF"


def test_so_may_truth_values(tool):
    z, x = tw.meta((1, 256), tw.bool_), tw.meta((1, 256), tw.bool_)
    made = toggled.compile_for("sm_90", z.partition_mut((1, 256)).map((2, 2)), x, 1)
    assert made.code[:4] == b"\x7fELF"


# --- with care -----------------------------------------------------------------------------------

COPY = (
    "def kernel(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:\n    a = tl.load_tile_like(x, z)\n"
)
CHOICE = COPY + "    if n > 2:\n        a = a * 2\n    z.store(a)\n"


def compiled():
    """A kernel that nobody has compiled yet, for sm_90."""
    kernel = tw.entry(execute(CHOICE, {"tl": tl, "i32": i32})["kernel"])
    return kernel.compile_for("sm_90", tw.meta((16,)).partition_mut((4,)), tw.meta((16,)), 1)


@pytest.fixture
def defeats(monkeypatch):
    """Let the assembler crash on the first so many kernels; gives the bytecode of all."""
    given, real = [], selection.attempt

    def begin(count):
        def attempt(job, tool, wait=None):
            given.append(job.bytecode)
            if len(given) > count:
                return real(job, tool, wait)
            command = [tool.path, "--gpu-name", job.arch, "kernel.tileirbc", "-o", "kernel.cubin"]
            return Defeat(job, command, Ended(-signal.SIGSEGV, ""))

        monkeypatch.setattr(selection, "attempt", attempt)
        return given

    return begin


def test_what_defeats_the_assembler_is_lowered_with_care(tool, defeats, monkeypatch):
    """What is kept on disk says so, too."""
    given, seen = defeats(1), []
    real = tileir.artifact
    monkeypatch.setattr(
        tileir,
        "artifact",
        lambda made, *rest, **how: seen.append(made) or real(made, *rest, **how),
    )
    made = compiled()
    usual, careful = given
    assert usual != careful
    assert made.code[:4] == b"\x7fELF"
    assert CAREFUL in made.decisions
    (first,) = seen
    assert restore(first, save(first, made), tileir.again).decisions == made.decisions


def test_what_was_lowered_with_care_is_exported_as_it_was_assembled(tool, defeats, tmp_path):
    """Also when the cubin comes from the disk."""
    given = defeats(1)
    kernel = tw.entry(execute(CHOICE, {"tl": tl, "i32": i32})["kernel"])
    args = tw.meta((16,)).partition_mut((4,)), tw.meta((16,)), 1
    with override(cache_dir=str(tmp_path / "cache")):
        for folder in ("made", "kept"):
            exported = kernel.export(tmp_path / folder, "sm_90", *args)
            assert exported.bytecode.read_bytes() == given[1] != given[0]
    assert len(given) == 2


def test_what_does_not_is_not(tool, defeats):
    given = defeats(0)
    assert CAREFUL not in compiled().decisions
    assert len(given) == 1


def test_an_assembler_that_fails_with_care_too_has_failed(tool, defeats):
    given = defeats(100)
    failing = pytest.raises(CompileError, match="tileiras could not compile")
    with override(selection_seconds=60.0), failing as caught:
        compiled()
    assert "it crashed (SIGSEGV)" in caught.value.got
    assert len(given) > 2, "other candidates have been tried as well"
    saved = re.search(r"(\S+\.tileirbc)", caught.value.hint)
    assert Path(saved.group(1)).read_bytes() == given[0]

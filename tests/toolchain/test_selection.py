"""What compiling says decides: kernels that would spill do not, and that is remembered."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks.gpu.meta import CALLS
from tilewright.backend.tileir import heuristics, selection
from tilewright.backend.tileir.choices import OccupancyConfig, policy_for
from tilewright.backend.tileir.lowered import Defeat, Job, assemble
from tilewright.backend.tileir.resource_model import memory_code, resources
from tilewright.backend.tileir.target import TileTarget
from tilewright.backend.tileir.toolchain import Ended, listings
from tilewright.base.config import override
from tilewright.base.dtypes import bf16, f32
from tilewright.base.errors import CompileError
from tilewright.compile.inspect import make
from tilewright.compile.store import current_store
from tilewright.launch.inspection import Inspection

pytestmark = pytest.mark.usefixtures("tool", "greedy")


@pytest.fixture(autouse=True)
def patient():
    """Let candidates be compiled, which other tests do without, however busy the machine is."""
    with override(selection_seconds=60.0):
        yield


@pytest.fixture
def each_time():
    """Assemble what was assembled before once more."""


CODE: dict[Job, bytes] = {}


@pytest.fixture(autouse=True)
def remembering(request, monkeypatch):
    """Assemble each program once for all tests: the code is the same, and takes seconds."""
    real = selection.attempt

    def attempt(job, tool, wait=None):
        job = replace(job, span=None)
        found = CODE.get(job) or real(job, tool, wait)
        if isinstance(found, bytes):
            CODE[job] = found
        return found

    if "each_time" not in request.fixturenames:
        monkeypatch.setattr(selection, "attempt", attempt)


@pytest.fixture
def greedy(monkeypatch):
    """Let the table want so many blocks that the kernel below spills."""
    rows = (OccupancyConfig(1 << 24, warps=4, blocks=7),)
    policy = replace(policy_for(TileTarget("sm_90")), streams=rows)
    monkeypatch.setattr(heuristics, "policy_for", lambda target: policy)


def fresh():
    """The gradients of a norm, of 64 rows per block with sums for weights; not compiled yet."""

    @tw.entry
    def backward(
        dx: tl.TensorMut, dw: tl.TensorMut[f32], dy: tl.Tensor, x: tl.Tensor, w: tl.Tensor
    ) -> None:
        _, n = dw.shape
        i, _, _ = tl.get_tile_block_id()
        xs, dys, outs = x.partition((1, n)), dy.partition((1, n)), dx.partition_mut((1, n))
        scale = w.load_tile((n,), [0]).astype(f32)[None, :]
        total = tl.zeros((1, n), f32)
        for k in range(64):
            a, g = xs.load([i * 64 + k, 0]).astype(f32), dys.load([i * 64 + k, 0]).astype(f32)
            inner = tl.reduce_sum(g * scale * a, 1, keepdims=True)
            outs.store((g * scale - a * inner).astype(dx.dtype), [k, 0])
            total = total + g * a
        dw.store(total)

    return backward


def made(kernel=None, **options):
    x = tw.meta((4096, 4096), bf16)
    outputs = x.partition_mut((64, 4096)), tw.meta((64, 4096)).partition_mut((1, 4096))
    chosen = tw.CompileOptions(**options)
    return (kernel or fresh()).compile_for(
        "sm_90", *outputs, x, x, tw.meta((4096,), bf16), options=chosen
    )


def test_a_kernel_that_would_spill_is_shipped_without():
    with override(selection_seconds=0.0):
        default = made()
    assert resources(default.code).stack_bytes > 100
    assert len(default.candidates) == 1 and "bytes spilled" in default.candidates[0]
    shipped = made()
    assert resources(shipped.code).stack_bytes == 0
    assert shipped.choices and any("(chosen)" in line for line in shipped.candidates)
    assert set(shipped.candidates) <= set(shipped.decisions)
    assert shipped.occupancy == dict(shipped.choices)["occupancy"]
    hinted = [line for line in shipped.decisions if line.startswith("hint occupancy")]
    assert hinted == [f"hint occupancy = {shipped.occupancy}: by the resources it needs"]


@pytest.mark.parametrize("is_large", [False, True])
def test_large_code_is_compiled_once(is_large, monkeypatch):
    """It does not spill: others would have as many instructions, however fast the machine is."""

    @tw.entry
    def kernel(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(tl.sin(tl.load_tile_like(x, out)))

    monkeypatch.setattr(selection, "LARGE", 1 if is_large else 1 << 20)
    monkeypatch.setattr(selection.CandidateTrial, "is_good", False)
    x, tile = tw.meta((1 << 20,)), (4096 if is_large else 2048,)  # neither is in the cache
    with override(selection_seconds=60.0):
        found = kernel.compile_for("sm_90", x.partition_mut(tile), x)
    said = [line for line in found.candidates if line.startswith("no other candidate is tried")]
    assert len(said) == is_large
    assert (len(found.candidates) == 2) == is_large


def test_what_spills_a_little_is_not_shipped_untried(tmp_path, monkeypatch):
    """However large its code is."""
    monkeypatch.setattr(selection, "LARGE", 1)
    monkeypatch.setattr(selection, "WORTH_SAYING", 1 << 20)
    with override(cache_dir=str(tmp_path / "cache"), selection_seconds=1e-3):
        found = made()
    assert not any(line.startswith("no other candidate is tried") for line in found.candidates)
    assert len(found.candidates) > 1


def test_hints_are_not_varied():
    asked = {"num_worker_warps_per_cta": 4, "occupancy": 7}
    found = made(**asked)
    assert resources(found.code).stack_bytes > 100 and not found.choices
    one = made(num_worker_warps_per_cta=4)
    assert dict(one.choices)["num_worker_warps_per_cta"] == 4
    assert all("4 warps" in line for line in one.candidates[1:])
    assert resources(one.code).stack_bytes == 0


def test_what_was_selected_is_found_on_disk(tmp_path, monkeypatch):
    with override(cache_dir=str(tmp_path / "cache")):
        first = made()
        monkeypatch.setattr(selection, "attempt", None)
        second = made()
        stats = current_store().stats
    assert (stats.hits, stats.misses, stats.puts) == (1, 1, 1)
    assert first.code == second.code and first.decisions == second.decisions
    assert first.choices == second.choices and first.occupancy == second.occupancy


def test_a_hint_that_equals_the_default_is_part_of_the_name(tmp_path):
    with override(cache_dir=str(tmp_path / "cache")):
        assert made().choices
        assert not made(num_worker_warps_per_cta=4, occupancy=7).choices
        with override(selection_seconds=0.0):
            assert not made().choices, "so is the time of the search"


def test_the_first_good_one_is_enough(each_time):
    """Whatever finishes first, the candidates after it are not reported, and not chosen."""
    default = made()
    good = len(default.candidates) - 2
    assert "(chosen)" in default.candidates[-1] and good < 6
    assert made().candidates == default.candidates


def test_where_no_thread_can_be_started_the_same_one_is_chosen(monkeypatch):
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    chosen = made().choices
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert made().choices == chosen and chosen


@pytest.fixture
def failing(monkeypatch):
    """Let the assembler fail on jobs by their numbers."""
    real, given = selection.attempt, []

    def begin(which, fail):
        def attempt(job, tool, wait=None):
            given.append(job)
            number = len(given)
            return fail(job, tool) if which(number) else real(job, tool, wait)

        monkeypatch.setattr(selection, "attempt", attempt)
        monkeypatch.setattr(selection, "CORES", 1)  # one after the other, in their order

    return begin


def crashed(job, tool):
    return Defeat(job, [tool.path, "in", "-o", "out"], Ended(-signal.SIGSEGV, ""))


def stopped(job, tool):
    return Defeat(job, [tool.path, "in", "-o", "out"], Ended(None, "stopped after 300 seconds"))


def refused(job, tool):
    raise CompileError("no", expected="a cubin", got="exit status 3")


@pytest.mark.parametrize(
    ("fail", "why"),
    [(crashed, "SIGSEGV"), (stopped, "stopped after 300 seconds"), (refused, "exit status 3")],
)
def test_a_candidate_that_fails_is_a_line(failing, fail, why):
    failing(lambda number: number == 2, fail)
    found = made()
    assert resources(found.code).stack_bytes == 0
    assert any("failed" in line and why in line for line in found.candidates)


def test_a_default_that_fails_is_replaced(failing):
    failing(lambda number: number == 1, stopped)
    found = made()
    assert found.choices and resources(found.code).stack_bytes == 0
    assert "(default): failed: stopped after 300 seconds" in "\n".join(found.candidates)


def test_if_nothing_works_the_error_is_that_of_the_default(failing):
    failing(lambda number: True, crashed)
    with pytest.raises(CompileError, match="could not compile `backward`"):
        made()


def test_candidates_have_a_limited_time(each_time, monkeypatch):
    monkeypatch.setattr(selection, "PATIENCE", 0.0)  # times what the default took
    with override(selection_seconds=1e-6):
        found = made()
    assert not found.choices and resources(found.code).stack_bytes > 100
    assert any("the time for candidates was over" in line for line in found.candidates)


def test_what_is_exported_is_what_was_selected(tool):
    kernel = fresh()
    found = made(kernel)
    assert found.choices
    x = tw.meta((4096, 4096), bf16)
    args = (
        x.partition_mut((64, 4096)), tw.meta((64, 4096)).partition_mut((1, 4096)),
        x, x, tw.meta((4096,), bf16),
    )  # fmt: skip
    look = Inspection(kernel.kernel, args, {}, "sm_90")
    exported = make(kernel.kernel.captured, look.signature, "sm_90", look._options)
    assert exported.artifact.choices == found.choices
    assert assemble(Job("backward", "sm_90", exported.bytecode, None), tool) == found.code


def test_machine_code_says_what_the_disassembler_says(tool):
    """Loads, spills and copies, counted by their operations."""
    with override(selection_seconds=0.0):
        code = made().code
    text = listings(code).get("sass")
    if not text:
        pytest.skip("no nvdisasm here")
    found = memory_code(code)
    spills = sum(text.count(f" {name}") for name in ("LDL", "STL"))
    assert found.spills == spills > 100
    assert found.instructions * 16 == resources(code).code_bytes
    assert found.copied == 16 * text.count(" LDGSTS.E.BYPASS.128")
    assert found.loaded_ahead >= 16


@pytest.mark.parametrize("name", CALLS)
def test_defaults_that_were_measured_to_be_best_are_shipped(name, monkeypatch):
    """On an H200 no hint made one of these kernels more than 3 % faster (results/gpu.json)."""
    monkeypatch.undo()  # the greedy table
    call = CALLS[name]
    found = call.kernel.compile_for("sm_90", *call.arguments(), **call.constants)
    assert not found.choices and len(found.candidates) == 1, found.candidates

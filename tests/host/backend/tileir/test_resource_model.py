"""The model of resources: candidates are judged by reports that a test makes up."""

from __future__ import annotations

import pytest

import tilewright as tw
from support.cuda import cuda_ir
from support.decided import copy
from tilewright.backend.tileir import resource_model as model
from tilewright.backend.tileir.choices import Choices
from tilewright.backend.tileir.features import Traits
from tilewright.backend.tileir.resource_model import (
    MOST,
    PROCESSORS,
    MemoryCode,
    Report,
    Resources,
    candidates,
    estimate,
    processor_of,
    rank,
)
from tilewright.backend.tileir.target import ARCHITECTURES, CodegenHints, TileTarget

HOPPER = processor_of(TileTarget("sm_90"))
FREE = frozenset[str]()


def report(
    registers: int = 64, threads: int = 256, stack: int = 0, shared: int = 0, code: int = 8192,
    ahead: int = 64, copied: int = 0, bulk: int = 0, looped: bool = True, **more: object,
) -> Report:  # fmt: skip
    needs = Resources(registers, stack, shared, code, threads)
    loop = more.pop("loop_bytes", 0), more.pop("loop_instructions", 0), stack * looped
    made = MemoryCode(ahead, copied, bulk, stack, code // 16, *loop)  # type: ignore[arg-type]
    return Report(needs, made, **more)  # type: ignore[arg-type]


def judged(**how):
    return estimate(report(**how), HOPPER)


@pytest.mark.parametrize(
    ("how", "blocks"),
    [
        ({"registers": 64}, 4), ({"registers": 65}, 3), ({"registers": 128}, 2),
        ({"registers": 255}, 1), ({"registers": 16}, 8), ({"registers": 16, "threads": 128}, 16),
        ({"registers": 16, "threads": 32}, 32), ({"shared": 113 << 10}, 2),
        ({"shared": 114 << 10}, 1), ({"shared": 227 << 10}, 1),
        ({"registers": 16, "blocks_of_launch": 1}, 1), ({"registers": 16, "threads": 0}, 32),
    ],
)  # fmt: skip
def test_resident_blocks(how, blocks):
    found = judged(**how)
    assert found.blocks == blocks
    assert found.warps == blocks * how.get("threads", 256) // 32


def test_bandwidth_is_what_is_in_flight():
    """Little's law: four blocks of 256 threads with 16 bytes each have 16 KiB in flight."""
    few = judged(ahead=16)
    assert few.bytes_in_flight == 4 * 256 * 16
    assert few.bandwidth == pytest.approx(16384 / (2 * HOPPER.needed_bytes))
    assert judged(ahead=64).bandwidth == 1 and judged(ahead=32).bandwidth < 1


def test_copies_into_shared_memory_are_in_flight_as_far_as_they_fit():
    assert judged(ahead=0, copied=64, shared=64 << 10).bytes_in_flight == 3 * 256 * 64
    assert judged(ahead=0, copied=640, shared=64 << 10).bytes_in_flight == 3 * (64 << 10)
    assert judged(ahead=0, bulk=2, shared=64 << 10).bytes_in_flight == 3 * (64 << 10)


def test_blocks_of_little_work_cannot_ask_for_more():
    assert judged(ahead=4, threads=128, registers=16, loaded_bytes=512).is_good
    assert judged(ahead=0, loaded_bytes=0).is_good
    assert not judged(ahead=4, loaded_bytes=1 << 20).is_good


def test_products_wait_for_themselves():
    assert not judged(ahead=0).is_good and judged(ahead=0, has_products=True).is_good
    assert not judged(ahead=0, has_products=True, stack=16).is_good


def test_code_beyond_the_cache_is_slower():
    assert judged(code=128 << 10).is_good
    assert judged(code=256 << 10).speed == 0.5


def test_loads_that_follow_loads_take_more_in_flight():
    """The rows of a gather wait for their numbers."""
    assert judged(ahead=64).bandwidth == 1
    assert judged(ahead=64, load_depth=2).bandwidth < 1


def test_instructions_take_time():
    """A logarithm of sums of exponentials: 599 instructions for 64 bytes of each thread."""
    slow = judged(loop_bytes=64, loop_instructions=599)
    assert slow.issued == slow.speed == pytest.approx(0.66, abs=0.01)
    assert not slow.is_good
    assert judged(threads=128, loop_bytes=64, loop_instructions=599).is_good, "as few as there are"
    assert judged(loop_bytes=64, loop_instructions=125).issued == 1
    once = {"loaded_bytes": 4096, "stored_bytes": 4096, "code": 16 * 1000}
    assert judged(**once).issued == pytest.approx(8192 / 8000 * 7 / 36.4)
    assert judged(**once, versions=2).issued == pytest.approx(8192 / 4000 * 7 / 36.4)
    assert judged(**once, has_products=True).issued == 1


def test_few_warps_share_the_instructions_of_a_block():
    """A stencil of 9 windows: 4 warps with 1.2 times the instructions of 8."""
    once = {"loaded_bytes": 4096, "stored_bytes": 4096}
    few = judged(registers=128, threads=128, code=16 * 1144, ahead=144, **once)
    many = judged(registers=64, threads=256, code=16 * 928, ahead=72, **once)
    assert rank(few) < rank(many)


def branch(instructions):
    """The two words of a branch so many instructions ahead of the next one."""
    distance = instructions * 4
    low, upper = distance & 0xFF, distance >> 8 & (1 << 48) - 1
    return 0x947 | low << 16 | (upper << 34 & (1 << 64) - 1), upper >> 30


def test_loops_are_found_in_the_code():
    other, load = (0x221, 0), (0x981, 6 << 9)
    code = [other, load, other, load, branch(-4), other, load, branch(-3), branch(5)]
    assert busiest(code) == (32, 4)
    assert busiest([other, load, branch(1)]) == (0, 0)
    outer = [other, load, branch(-2), other, branch(-5)]
    assert busiest(outer) == (16, 2), "the innermost one"
    assert model._loops(outer) == [(1, 2), (0, 4)]
    assert model._loops([*outer, branch(-7)]) == model._loops(outer), "none begins before the code"


def busiest(code):
    return model._busiest_loop(code, model._loops(code))


def test_few_spills_outside_of_loops_are_slight():
    assert judged(stack=25, looped=False).slight, "of 512 instructions"
    assert not judged(stack=26, looped=False).slight
    assert not judged(stack=25, looped=True).slight
    assert judged(stack=16, looped=True).slight


WINDOWS = {"loaded_bytes": 5248, "stored_bytes": 4096, "versions": 2}
# What is known by measurement on an H200, or by construction: the first of each list is the best.
ORDERS = {
    "one that spills is worse than any that does not": [
        report(255, ahead=8), report(64, stack=24), report(64, stack=32),
    ],
    "gradients of a norm: 8 warps and two blocks, 1.8 times as fast as 4 warps and seven": [
        report(120, shared=42032, ahead=32, copied=64),
        report(152, shared=42032, ahead=32, copied=64),
        report(72, 128, stack=632, shared=29728, ahead=64, copied=128),
    ],
    "norms of 8192: four blocks of 64 registers, not two of 89": [
        report(64), report(89),
    ],
    "a product of fp8: 8 warps without spills, twice as fast": [
        report(168, 384, shared=84544, ahead=16, bulk=2, has_products=True),
        report(168, 384, stack=152, shared=84592, ahead=16, bulk=2, has_products=True),
        report(128, 256, stack=184, shared=60008, ahead=16, bulk=2, has_products=True),
    ],
    "a convolution: few accesses of the stack, and fewer instructions, 1.1 times as fast": [
        report(128, 128, stack=24, looped=False, code=16 * 2064, ahead=40, **WINDOWS),
        report(64, 256, code=16 * 1448, ahead=20, **WINDOWS),
    ],
    "of equal speed the one that does not spill": [
        report(64, 128), report(64, 128, stack=20, looped=False),
    ],
    "with equal loads in flight, more warps hide more": [
        report(64, 256, ahead=64), report(128, 128, ahead=128),
    ],
    "equals keep their order": [report(64), report(64)],
}  # fmt: skip


@pytest.mark.parametrize("why", ORDERS)
def test_order(why):
    ranks = [rank(estimate(each, HOPPER)) for each in ORDERS[why]]
    assert ranks == sorted(ranks)
    assert (ranks[0] < ranks[-1]) != (why == "equals keep their order")


# --- candidates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [Choices(), Choices(4, 7), Choices(8, 4), Choices(8, 1)])
@pytest.mark.parametrize("stack", [0, 8, 632, 100000])
def test_candidates_are_few_different_and_valid(given, stack):
    found = candidates(given, report(72, 128, stack=stack), HOPPER, FREE)
    assert 1 <= len(found) <= MOST
    assert len(set(found)) == len(found) and given not in found
    for each in found:
        assert each.num_worker_warps_per_cta in (4, 8)
        assert each.occupancy is not None and 1 <= each.occupancy <= 32


def test_the_registers_of_a_default_that_spills_say_what_fits():
    found = candidates(Choices(4, 7), report(72, 128, stack=632), HOPPER, FREE)
    assert found[0] == Choices(8, 2)


def test_hints_are_kept():
    fixed = frozenset({"num_worker_warps_per_cta"})
    found = candidates(Choices(4, 7), report(72, 128, stack=632), HOPPER, fixed)
    assert found and {c.num_worker_warps_per_cta for c in found} == {4}
    both = fixed | {"occupancy"}
    assert candidates(Choices(4, 7), report(72, 128, stack=632), HOPPER, both) == []


def test_other_forms_are_candidates_too():
    forms = [{"async_loads": False}, {"whole_first": False}]
    found = candidates(Choices(4, 7), report(72, 128), HOPPER, FREE, forms)
    assert len(found) == MOST
    assert found[0] == Choices(4, 7, async_loads=False)
    assert found[1] == Choices(4, 7, whole_first=False)
    kept = candidates(Choices(4, 7), report(72, 128), HOPPER, {"whole_first"}, forms)
    assert all(c.whole_first is None for c in kept)


def test_loops_with_asynchronous_copies_may_have_half_as_many_blocks():
    found = candidates(Choices(4, 4), report(96, 128, copied=128), HOPPER, FREE)
    assert found[0] == Choices(4, 2)
    assert Choices(4, 2) not in candidates(Choices(4, 4), report(96, 128), HOPPER, FREE)


@pytest.mark.parametrize("versions", [1, 2])
def test_the_copies_of_another_version_are_not_in_flight(versions):
    found = judged(ahead=0, threads=128, copied=64, shared=8192, versions=versions)
    assert found.bytes_in_flight == found.blocks * 8192 // versions


def test_blocks_that_load_once_may_share_a_multiprocessor_with_many():
    crowded = report(146, 256, loaded_bytes=6 << 10)
    found = candidates(Choices(8), crowded, HOPPER, FREE)
    assert found[:2] == [Choices(8, 4), Choices(4, 8)], "64 registers for each thread"
    roomy = report(64, 256, loaded_bytes=6 << 10)
    assert Choices(8, 4) not in candidates(Choices(8), roomy, HOPPER, FREE)


def test_one_that_cannot_be_launched_is_the_last():
    assert rank(judged(registers=255, threads=384)) > rank(judged(stack=8))


def test_a_default_that_could_not_be_compiled_has_candidates():
    assert candidates(Choices(8, 1), None, HOPPER, FREE)


def test_every_architecture_is_described():
    for arch in ARCHITECTURES:
        found = processor_of(TileTarget(arch))
        assert found.needed_bytes > 0 and found.shared_bytes >= 100 << 10
    assert [p.since for p in PROCESSORS] == sorted((p.since for p in PROCESSORS), reverse=True)


# --- the record of choices -----------------------------------------------------------------------


def test_choices_as_names_and_values():
    made = Choices(8, 2, latency=4, allow_tma=False)
    assert Choices.of_mapping(made.given) == made
    assert made.text == "8 warps, occupancy 2, latency 4, allow_tma False"
    assert Choices().text == "as the assembler chooses"


@pytest.mark.parametrize("wrong", [{"warps": 4}, {"occupancy": "4"}, {"occupancy": -1}])
def test_what_are_no_choices(wrong):
    with pytest.raises(ValueError, match="not a choice"):
        Choices.of_mapping(wrong)


def test_hints_go_first():
    hints = CodegenHints(occupancy=3, allow_tma=True)
    assert Choices(8, 2).under(hints) == Choices(8, 3, allow_tma=True)


def test_loaded_bytes():
    z = tw.meta((4096, 4096))
    assert Traits(cuda_ir(copy, z.partition_mut((4, 64)), z)).loaded_bytes == 4 * 64 * 4

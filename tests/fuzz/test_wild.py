"""Random kernels of many kinds agree with the reference; and what fails is found, and cut down."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.running import DEVICE
from fuzz.wild.campaign import CRASHES, Worker, conduct
from fuzz.wild.kept import keep, kept, read
from fuzz.wild.program import Wild
from fuzz.wild.running import AGREES, REFUSED, Verdict, judge, same
from fuzz.wild.shrinking import shrink
from fuzz.wild.writing import write
from support.loops import for_each
from support.numbers import fresh_seed
from tilewright.base.dtypes import bf16

PLAIN = """
def k(o0: tl.TensorMut, n: i32) -> None:
    o0.store(tl.full((4,), {value}, i32))
"""


def plain(value: str, before: str = "") -> Wild:
    """A kernel without inputs, and statements that stand before it."""
    return Wild(0, before + PLAIN.format(value=value), (4,), (8,), ("i32",), (), 1)


@pytest.fixture
def worker():
    found = Worker("cpu")
    yield found
    found.end()


def test_all_agree(pytestconfig):
    count, first = pytestconfig.getoption("--kernels"), fresh_seed() % 1_000_000
    campaign = conduct(DEVICE, count, first, workers=2, seconds=300, shrinks=20)
    assert campaign.counts.total() == count
    assert campaign.counts[AGREES] >= count * 0.7, campaign.counts
    assert not campaign.bad, "\n\n".join(program.shown() for program, _ in campaign.bad)


@for_each(kept())
def test_kept_programs_agree(name):
    verdict = judge(kept()[name], DEVICE)
    assert verdict.kind == AGREES, f"{name}: {verdict}"


def test_what_is_kept_is_read_again(tmp_path):
    programs = [write(seed) for seed in range(8)]
    assert [read(keep(p, f"seed_{p.seed}", tmp_path)) for p in programs] == programs


def test_a_seed_gives_one_program():
    assert [write(seed) for seed in range(8)] == [write(seed) for seed in range(8)]
    assert len({write(seed).source for seed in range(8)}) == 8
    assert all(Wild.of(write(seed).text()) == write(seed) for seed in range(8))


def test_who_kills_the_process_is_known(worker):
    deadly = plain("1", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    assert worker.ask(plain("1")) == Verdict(AGREES)
    assert worker.ask(deadly) == Verdict(CRASHES, "the process ended with -11")
    assert worker.ask(plain("1")) == Verdict(AGREES)


def test_programs_run_on_a_simulated_gpu():
    simulated = Worker("simulated")
    try:
        assert simulated.ask(plain("1")) == Verdict(AGREES)
        assert [simulated.ask(write(seed)).is_bad for seed in range(3)] == [False] * 3
    finally:
        simulated.end()


def test_what_is_no_program_is_refused(worker):
    verdict = worker.ask(plain("unknown"))
    assert verdict.kind == REFUSED
    assert "unknown" in verdict.words
    assert not verdict.is_bad


def test_bits_are_compared_but_for_those_of_nan():
    zeros, nans = np.array([0.0, -0.0], np.float32), np.array([np.nan, 1.0], np.float32)
    assert not same(zeros, zeros[::-1])
    assert same(nans, np.array([-np.nan, 1.0], np.float32))
    assert not same(nans, np.array([0.0, 1.0], np.float32))
    assert same(zeros.astype(bf16.np), zeros.astype(bf16.np))
    assert not same(zeros.astype(bf16.np), -zeros.astype(bf16.np))


def test_a_program_is_cut_down_to_what_fails():
    lines = ["a = 1", "if a:", "    b = 2", "    bad(b)", "else:", "    c = 3", "d = 4"]
    text = "".join(f"    {line}\n" for line in lines)
    text = f"def k():\n{text}"
    short = shrink(text, lambda source: "bad(" in source, seconds=20)
    assert short == "def k():\n    bad(b)\n"

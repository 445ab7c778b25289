"""The clock of the GPU benchmark, with a host and a GPU whose times are made up."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from benchmarks import peers
from benchmarks.gpu import timing
from benchmarks.gpu.case import Entry, Row
from benchmarks.gpu.timing import Clock, best, interleave, rounds_of

FLUSH = 130e-6
"""Seconds that writing much memory takes the GPU."""


class Machine:
    """A host, a GPU that takes what the host has put on its stream, and torch as far as needed."""

    def __init__(self):
        self.now = self.free = 0.0
        """When the host goes on, and when the GPU is done with what it has."""
        self.waited = 0.0
        self.flushes = 0
        self.cuda = SimpleNamespace(
            Event=lambda enable_timing: Event(self), synchronize=self.synchronize, _sleep=self.sleep
        )
        self.uint8 = None

    def put(self, host, device):
        self.now += host
        self.free = max(self.free, self.now) + device

    def synchronize(self):
        self.now = max(self.now, self.free)

    def sleep(self, cycles):
        self.waited += cycles / timing.HERTZ
        self.put(1e-6, cycles / timing.HERTZ)

    def empty(self, size, dtype, device):
        return self

    def zero_(self):
        self.flushes += 1
        self.put(2e-6, FLUSH)

    def entry(self, host, device, setting="", scatter=0.0):
        """Work that takes the host and the GPU so many seconds."""

        def run():
            self.put(host, device * random.gauss(1, scatter))

        return Entry(run, None, setting)


class Event:
    def __init__(self, machine):
        self.machine = machine

    def record(self):
        self.machine.now += 1e-6
        self.at = max(self.machine.now, self.machine.free)

    def query(self):
        return self.at <= self.machine.now

    def elapsed_time(self, other):
        return (other.at - self.at) * 1e3


@pytest.fixture
def machine(monkeypatch):
    made = Machine()
    monkeypatch.setattr(peers, "torch", lambda: made)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: made.now))
    return made


@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("host", [4e-6, 100e-6, 400e-6])
def test_a_slow_host_is_not_measured(host, cold, machine):
    entries = {"slow": machine.entry(host, 55e-6), "quick": machine.entry(4e-6, 60e-6)}
    found = interleave(entries, Clock(cold=cold), rounds=20)
    assert found["slow"] == pytest.approx([55e-6] * 20, rel=0.02)
    assert found["quick"] == pytest.approx([60e-6] * 20, rel=0.02)


def test_the_gpu_waits_only_for_a_slow_host(machine):
    interleave({"quick": machine.entry(4e-6, 55e-6)}, Clock(cold=False))
    assert machine.waited == 0
    interleave({"slow": machine.entry(100e-6, 55e-6)}, Clock(cold=False))
    assert 0 < machine.waited < 0.2


def test_a_host_that_is_never_in_time_is_told_of(machine, capsys, monkeypatch):
    monkeypatch.setattr(machine, "sleep", lambda cycles: None)
    machine.cuda._sleep = machine.sleep
    interleave({"0": machine.entry(100e-6, 55e-6, "64x64")}, Clock(cold=False), rounds=1)
    assert "the host was late with 64x64" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(20))
def test_the_fastest_setting_is_found_however_long_launches_take(seed, machine):
    random.seed(seed)
    settings = [
        machine.entry(host, device, str(device), 0.05)
        for host, device in [(100e-6, 55e-6), (4e-6, 65e-6), (30e-6, 80e-6), (4e-6, 120e-6)]
    ]
    random.shuffle(settings)
    assert best(settings, Clock(cold=False)).setting == "5.5e-05"


def test_turns_with_a_flush_are_short(machine):
    interleave({"x": machine.entry(4e-6, 8e-6)}, Clock(cold=True), rounds=1)
    assert machine.flushes == timing.MOST_COLD + 3


def row(unit, *, cold):
    return Row("gemm", "GEMM", lambda: None, 1.0, unit, cold=cold)


def test_rows_that_scatter_have_more_rounds():
    assert rounds_of(row("FLOP", cold=False), 5) == 10
    assert rounds_of(row("FLOP", cold=True), 5) == rounds_of(row("B", cold=False), 5) == 5

"""Each experiment runs, and what its kernels compute is right."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from benchmarks.host import experiments, kernels
from benchmarks.host.__main__ import PROFILE, chosen, effort, main, parse, run, stem
from benchmarks.host.profile import launch_profile
from benchmarks.host.report import Table
from benchmarks.host.work import chain, small, wide
from benchmarks.timing import Effort
from support.fake_cuda import FakeCuda
from tilewright.devices.cuda.device import CudaDevice

ONCE = Effort(seconds=0.0, rounds=1)


@pytest.mark.parametrize("count", kernels.SUMS)
def test_sums_are_sums(count):
    z, *inputs = small(count)
    kernels.SUMS[count](z, *inputs).sync()
    expected = sum((t.to_numpy() for t in inputs), np.zeros(16)) if inputs else np.ones(16)
    np.testing.assert_allclose(z.unpartition().to_numpy(), expected, rtol=1e-5, atol=1e-5)


def test_kernels_of_forms_compute_what_they_say():
    z, x = small(2)
    where = tw.from_numpy(np.zeros(1, np.int32)).sync()
    for kernel, others, factor in (
        (kernels.scaled, (2.5,), 2.5),
        (kernels.picked, (where,), 1.0),
    ):
        kernel(z, x, *others).sync()
        np.testing.assert_array_equal(z.unpartition().to_numpy(), x.to_numpy() * factor)
        z = z.tensor.partition_mut(16)
    kernels.multiplied(z, x, FACTOR=3).sync()
    np.testing.assert_array_equal(z.unpartition().to_numpy(), x.to_numpy() * 3)


def test_a_chain_scales():
    y, x, g = wide()
    chain(kernels.scale, (y, x, g), 3).sync()
    np.testing.assert_array_equal(y.unpartition().to_numpy(), x.to_numpy() * g.to_numpy())


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_an_experiment_gives_its_table(name, monkeypatch):
    monkeypatch.setattr(experiments, "LENGTHS", (1, 3))
    monkeypatch.setattr(experiments, "SPINS", (0, 10))
    monkeypatch.setattr(experiments, "CHAINS", (3,))
    monkeypatch.setattr("benchmarks.host.probes.TURN", 0.0)
    table = experiments.EXPERIMENTS[name](ONCE)
    tw.synchronize()
    assert table.name == name
    assert len(table.columns) >= 2
    assert all(f.minimum > 0 for cells in table.rows.values() for f in cells.values())


def test_a_profile_names_our_own_functions():
    lines = launch_profile(launches=3)
    assert any("tilewright" in line for line in lines), lines


def test_results_of_the_repository_are_never_replaced(capsys):
    assert parse([]).out.name == "bench"
    assert chosen(["graph"]) == ["host_graph"]
    assert main(["--list"]) == 0
    assert PROFILE in capsys.readouterr().out


def test_a_failing_experiment_leaves_the_others(capsys):
    def failing(_):
        raise ValueError("no such thing")

    made = Table("t", "T", "", "N", {})
    tables, failed = run({"bad": failing, "good": lambda _: made}, ONCE)
    assert tables == [made] and failed == ["bad"]
    assert "bad failed: ValueError: no such thing" in capsys.readouterr().err


def test_tensors_live_on_the_default_device():
    with tw.device(CudaDevice(FakeCuda(), 0)) as device:
        assert all(tensor.device is device for tensor in (*small(3)[1:], *wide()[1:]))


def test_runs_on_a_gpu_have_files_of_their_own():
    assert stem(tw.default_device()) == "host"
    assert stem(CudaDevice(FakeCuda(), 0)) == "host_cuda"


def test_seconds_may_be_given():
    assert effort(parse(["--seconds", "0.5"])).seconds == 0.5
    assert effort(parse(["--quick", "--device", "cpu"])).rounds == 1

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT
from tilewright import f32


def test_the_null_device_is_the_default_and_records(null_device):
    t = tw.zeros((3,)).sync()
    assert t.device is null_device
    t.copy_from(np.ones(3, np.float32)).sync()
    assert [entry.kind for entry in null_device.entries] == ["copy"]
    assert t.to_numpy().tolist() == [0, 0, 0]  # nothing was done


def test_work_in_flight_can_be_looked_at(null_device):
    t = tw.zeros((3,)).sync()
    null_device.hold()
    copy = t.dup().start()
    assert copy.shape == (3,)
    assert [entry.kind for entry in null_device.entries] == ["copy"]
    null_device.release()
    assert copy.to_numpy().tolist() == [0, 0, 0]


def test_each_test_begins_afresh(null_device):
    assert null_device.entries == []
    assert tw.default_device() is null_device


def test_outside_of_it_nothing_changes():
    assert tw.default_device().name != "null"


@tw.entry
def double(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) * 2)


def test_a_pipeline_is_tested_without_running_it(null_device):
    x = tw.zeros((1000,)).sync()
    op = double(tw.empty((1000,)).partition((256,)), x).out().then(lambda t: t.dup())
    assert op.sync().shape == (1000,)
    launch, copy = null_device.entries
    assert str(launch) == f"stream {launch.stream}: launch double over (4, 1, 1)"
    assert (copy.kind, copy.stream) == ("copy", launch.stream)
    with pytest.raises(tw.ShapeError, match="wrong element type"):
        double(tw.empty((4,), tw.i32).partition((4,)), x).sync()


def test_a_graph_of_noted_launches(null_device):
    z, x = tw.zeros((8,)).sync(), tw.zeros((8,)).sync()
    with tw.CudaGraph.scope(null_device.new_stream()) as scope:
        scope.record(double(z.partition_mut((8,)), x))
    assert null_device.entries == []
    scope.graph.launch().sync()
    assert len(null_device.entries) == 1


@pytest.mark.tilewright_devices("cpu", "reference")
def test_a_device_matrix(tilewright_device, poisoned, assert_close):
    assert tw.default_device() is tilewright_device
    x, out = np.arange(10, dtype="f4"), poisoned((10,))
    assert np.isnan(out.to_numpy()).all()
    double(out.partition_mut((4,)), x).sync()
    assert_close(out, x * 2)


def test_poison_of_integers(poisoned):
    assert poisoned((3,), tw.u8).to_numpy().tolist() == [0xAB] * 3


def test_no_leaks_finds_nothing_in_an_honest_test(no_leaks):
    x = tw.ones((1000,)).sync()
    assert double(tw.empty((1000,)).partition((256,)), x).out().sync().to_numpy().sum() == 2000


OF_A_USER = """
import warnings
import pytest
import tilewright as tw

kept = []

def test_keeps_memory(no_leaks):
    kept.append(tw.zeros((1000,)).sync())

def test_forgets_an_op(no_leaks):
    tw.zeros((3,)).then(tw.value)

def test_warns(no_leaks):
    warnings.warn("of the user's")

def test_is_clean(no_leaks):
    tw.zeros((1000,)).sync()

def test_devices(tilewright_device):
    assert tw.default_device() is tilewright_device

@pytest.mark.tilewright_devices("cpu")
def test_one_device(tilewright_device):
    pass

@pytest.mark.tilewright_devices("abacus")
def test_no_such_device(tilewright_device):
    pass
"""


def run_user(tmp_path, *options):
    """The outcome of each test of a user's file, without what our own conftest does."""
    (tmp_path / "test_it.py").write_text(OF_A_USER)
    command = [sys.executable, "-m", "pytest", "-p", "tilewright_pytest", "-rA", "-q",
               "-p", "no:cacheprovider", "--strict-markers", *options, "test_it.py"]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED) (.*)$", done.stdout, re.MULTILINE)
    assert lines, done.stdout + done.stderr
    named = [(word, text.partition("::")[2] or text) for word, text in lines]
    return {text.split(" - ")[0]: word for word, text in named}, done.stdout


def test_the_plugin_of_a_user(tmp_path):
    outcomes, printed = run_user(tmp_path)
    assert outcomes["test_keeps_memory"] == outcomes["test_forgets_an_op"] == "ERROR"
    assert re.search(r"memory stays in use.*bytes of (cpu|cuda)", printed, re.DOTALL)
    assert "was never run" in printed and "of the user's" in printed
    assert outcomes["test_is_clean"] == outcomes["test_one_device[cpu]"] == "PASSED"
    assert outcomes["test_devices[cpu]"] == outcomes["test_devices[reference]"] == "PASSED"
    assert outcomes["test_no_such_device[abacus]"] == "ERROR"


def test_devices_are_chosen_by_an_option(tmp_path):
    outcomes, _ = run_user(tmp_path, "--tilewright-devices", "reference", "-k", "device")
    assert outcomes["test_devices[reference]"] == "PASSED"
    assert "test_devices[cpu]" not in outcomes
    assert not any(name.startswith("test_one_device[cpu]") for name in outcomes)


def test_pytest_loads_nothing_for_those_who_use_nothing():
    program = "import tilewright_pytest, sys; print({'tilewright', 'numpy'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_it_is_an_entry_point():
    text = (ROOT / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\ntilewright_pytest = "tilewright_pytest"' in text

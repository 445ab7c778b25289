"""The examples with several processes, small: under torchrun, and on Ray."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from source_tree import ROOT
from support import processes

FOLDER = ROOT / "examples" / "distributed"
pytest.importorskip("torch")


def run(*command: str) -> str:
    """The last line that a command prints."""
    settings = {
        "OMP_NUM_THREADS": "1", "TILEWRIGHT_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    with processes.ray_folder() as folder:
        done = subprocess.run(
            [sys.executable, *command], cwd=FOLDER, capture_output=True, text=True, timeout=300,
            env=os.environ | settings | {"RAY_TMPDIR": folder}, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def torchrun(count: int, example: str) -> str:
    return run("-m", "torch.distributed.run", "--nproc-per-node", str(count), example)


@pytest.mark.full
@pytest.mark.parametrize("count", [1, 2, 4])
def test_data_parallel_on_torchrun(count):
    assert torchrun(count, "mlp.py") == f"mlp: {count} processes of torchrun agree with NumPy"


@pytest.mark.full
@pytest.mark.parametrize("count", [2, 4])
def test_tensor_parallel(count):
    said = torchrun(count, "tensor_parallel.py")
    assert said == f"tensor_parallel: {count} processes agree with one, and with NumPy"


@pytest.mark.full
@pytest.mark.parametrize("count", [1, 2, 4])
def test_data_parallel_on_ray(count):
    pytest.importorskip("ray")
    said = run("mlp.py", "--ray", str(count))
    assert said == f"mlp: {count} actors of Ray agree with NumPy"


@pytest.mark.full
def test_a_sweep_loses_nothing():
    pytest.importorskip("ray")
    said = run("sweep.py", "--tasks", "100", "--killed", "5", "--workers", "2")
    assert said == "sweep: 100 tasks, 5 workers killed, nothing lost"


def test_one_process_of_each(monkeypatch, capsys):
    """In this process: what several do is in the full tier."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "layers", raising=False)
    import mlp
    import tensor_parallel

    tensor_parallel_result = tensor_parallel.block(0, 1, None)
    assert abs(tensor_parallel_result - tensor_parallel.expected()).max() < 1e-3
    monkeypatch.setattr(mlp, "all_reduce", lambda x, op: tensor_parallel.tw.value(x))
    mlp.check(mlp.train(0, 1))
    with pytest.raises(ValueError, match="are not divided by 3 processes"):
        tensor_parallel.block(0, 3, None)
    monkeypatch.setattr(mlp, "RATE", 0.06)
    found = mlp.train(0, 1)
    monkeypatch.setattr(mlp, "RATE", 0.05)
    with pytest.raises(AssertionError):
        mlp.check(found)

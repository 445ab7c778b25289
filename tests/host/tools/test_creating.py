"""A new project: its test and its benchmark run at once, and names that cannot be are refused."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

from source_tree import ROOT, SOURCES
from tilewright.tools import creating
from tilewright.tools.command import main
from tilewright.tools.subcommand import MISUSED


def run(folder, *arguments):
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, env=os.environ | {"PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "count"),
    [("arrays", 1), pytest.param("reference or cpu or arrays", 25, marks=pytest.mark.full)],
)
def test_a_new_project_runs_its_test_and_its_benchmark(chosen, count, tmp_path, capsys):
    assert main(["new", "fast-norm", "--in", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    folder = tmp_path / "fast-norm"
    assert f"cd {folder}\npython -m pytest\npython -m benchmarks.bench\n" in said
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    assert project["project"]["name"] == "fast-norm"
    assert project["tool"]["setuptools"]["packages"] == ["fast_norm"]
    tested = run(folder, "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert f"{count} passed" in tested.stdout
    measured = run(folder, "benchmarks.bench", "8", "16")
    assert measured.returncode == 0, measured.stderr
    assert "4 rows per tile: median" in measured.stdout
    assert "NumPy: median" in measured.stdout


@pytest.mark.full
def test_its_test_can_fail(tmp_path):
    creating.create("wrong", tmp_path)
    kernels = tmp_path / "wrong" / "wrong" / "kernels.py"
    kernels.write_text(kernels.read_text().replace("tl.sqrt(", "tl.abs("))
    tested = run(tmp_path / "wrong", "pytest", "-q", "-p", "no:cacheprovider", "-k", "arrays")
    assert tested.returncode == 1, tested.stdout


def test_every_template_is_used():
    kept = {path.name.removesuffix(".txt") for path in creating.TEMPLATES.iterdir()}
    assert kept == set(creating.FILES.values())
    assert creating.TEMPLATES.is_relative_to(SOURCES), "wheels take all files there"


def test_no_mark_is_left(tmp_path):
    for path in creating.create("norms", tmp_path):
        assert "{{" not in path.read_text() + str(path)


@pytest.mark.parametrize("name", ["", "1norm", "Norm", "a b", "../norm", "class", "json", "numpy"])
def test_names_that_cannot_be(name, tmp_path, capsys):
    assert main(["new", name, "--in", str(tmp_path)]) == MISUSED
    assert "name of" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path, capsys):
    kept = tmp_path / "norms"
    kept.mkdir()
    assert main(["new", "norms", "--in", str(tmp_path)]) == MISUSED
    assert "exists: choose another name" in capsys.readouterr().err
    assert not list(kept.iterdir())

"""The command: building, running, what it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import pytest

import tilewright as tw
from source_tree import ROOT
from tilewright.base.config import override
from tilewright.tools import choosing
from tilewright.tools.command import main

EXAMPLE = str(ROOT / "examples" / "tile_to_simt.py")
SHOWS_TARGET = "from tilewright.base.config import current\nprint(current().target)\n"


@pytest.fixture
def installed(tmp_path):
    """The package as its wheel has it, in a folder of its own."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    wheel, site = wheel["wheel"], tmp_path / "site"
    folders = {name: name.split("/")[-1] for name in wheel["packages"]}
    for source, target in {**folders, **wheel.get("force-include", {})}.items():
        shutil.copytree(ROOT / source, site / target, dirs_exist_ok=True)
    return site


def test_d06_an_example_runs_by_its_name(installed, tmp_path):
    """`tilewright run NAME` runs an example, from anywhere, as the package is installed."""
    environment = {**os.environ, "PYTHONPATH": str(installed), "TILEWRIGHT_DEVICE": "reference"}
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "run", "tile_to_simt"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("PASS")


@pytest.mark.cpu_alone
def test_d09_the_toolkit_is_named_or_found(assembler, capsys):
    """The assembler comes with a package or a toolkit; `tilewright doctor` says what was found."""
    main(["doctor"])
    text = capsys.readouterr().out
    assert "tileiras" in text and "compiles for" in text and "driver" in text


def test_d10_the_architecture_of_a_run(tmp_path, capsys):
    """`run` takes the architecture of its option, then of a variable, then of the GPU."""
    file = tmp_path / "shows.py"
    file.write_text(SHOWS_TARGET)
    with override(target="sm_80"):
        assert main(["run", str(file)]) == 0
        assert main(["run", str(file), "--arch", "sm_90"]) == 0
    assert capsys.readouterr().out == "sm_80\nsm_90\n"


def test_d11_the_architecture_of_a_build(monkeypatch, tmp_path):
    """`build` takes its option, then the setting, then the GPU that is there."""
    there = SimpleNamespace(gpus=[SimpleNamespace(arch="sm_103")])
    monkeypatch.setattr(choosing, "ask_driver", lambda: there)
    for target, option, expected in [
        ("", [], "sm_103"),
        ("sm_120", [], "sm_120"),
        ("sm_120", ["--arch", "sm_100"], "sm_100"),
    ]:
        with override(target=target):
            assert main(["build", EXAMPLE, "--emit", "ptx", *option, "-o", str(tmp_path)]) == 0
        assert f".target {expected}" in (tmp_path / "threshold_scale.ptx").read_text()


def test_d12_the_simt_stage_is_built_as_ptx(tmp_path):
    """The SIMT stage is compiled to a file of PTX, without a GPU."""
    assert main(["build", EXAMPLE, "--emit", "ptx", "--arch", "sm_90", "-o", str(tmp_path)]) == 0
    text = (tmp_path / "threshold_scale.ptx").read_text()
    assert ".visible .entry threshold_scale(" in text and ".target sm_90" in text


def test_d15_the_example_ends_with_pass(capsys):
    """The example compares with NumPy and says that it passed."""
    assert main(["run", EXAMPLE]) == 0
    assert "PASS" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.cpu_alone
@pytest.mark.parametrize("options", [[], ["--export"]], ids=["plain", "exported"])
def test_d18_both_kinds_are_compiled_to_a_folder(options, tmp_path, assembler, capsys):
    """All kernels of a file are compiled ahead of time, tile and SIMT kernels alike."""
    command = ["compile", EXAMPLE, "--launched", "--arch", "sm_90", "-o", str(tmp_path), *options]
    assert main(command) == 0, capsys.readouterr().err
    names = {path.name for path in tmp_path.iterdir()}
    assert any(name.startswith("row_softmax") and name.endswith(".cubin") for name in names)
    assert any(name.startswith("threshold_scale") and name.endswith(".ptx") for name in names)
    if options:
        assert sum(name.endswith(".h") for name in names) >= 2


def test_d20_nothing_is_fetched():
    """The sources of the library are fetched when the program is first built.

    Differs: what-is-needed
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "tilewright" and "cuda" in project["optional-dependencies"]
    assert tw.default_device() is not None


def test_d21_a_folder_is_a_program(tmp_path, capsys):
    """A program may be a folder with a main file."""
    (tmp_path / "main.py").write_text("print('main')\n")
    assert main(["run", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "main\n"

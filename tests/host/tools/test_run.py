"""Programs and examples from the command line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import tilewright as tw
from source_tree import ROOT
from tilewright.base.config import override
from tilewright.tools import run
from tilewright.tools.command import main

PROGRAM = """
import sys
import tilewright as tw
import neighbour
print(tw.default_device().name, neighbour.WORD, sys.argv[1:], __name__)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "neighbour.py").write_text("WORD = 'beside'\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.py").write_text("print('main')\n")
    return tmp_path


@pytest.mark.parametrize("name", ["program.py", "program"])
def test_a_file_runs_as_a_script(folder, name, capsys):
    assert main(["run", "--device", "reference", str(folder / name), "a", "--flag"]) == 0
    assert capsys.readouterr().out == "reference beside ['a', '--flag'] __main__\n"


def test_a_folder_with_a_main(folder, capsys):
    assert main(["run", str(folder / "app")]) == 0
    assert capsys.readouterr().out == "main\n"


@pytest.mark.parametrize("name", ["hello_world", "examples/hello_world"])
def test_an_example_by_its_name(name, capsys):
    assert main(["run", "--device", "reference", name]) == 0
    assert capsys.readouterr().out.startswith("Hello, I am tile <0, 0, 0>")


def test_examples_of_an_installed_package(tmp_path, monkeypatch, capsys):
    """A wheel has them inside the package, where the command looks first."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"]
    assert wheel["force-include"] == {"examples": "tilewright/examples"}
    assert run.EXAMPLES[0] == Path(tw.__file__).parent / "examples"
    (tmp_path / "interop").mkdir()
    (tmp_path / "interop" / "guest.py").write_text("print('found')\n")
    monkeypatch.setattr(run, "EXAMPLES", (tmp_path, tmp_path / "none"))
    assert main(["run", "guest"]) == 0
    assert capsys.readouterr().out == "found\n"


@pytest.mark.parametrize(
    ("folders", "said"),
    [((ROOT / "examples",), "there is no program sofmax; examples: activations, "),
     ((ROOT / "none",), "there is no program sofmax; no examples are installed here")],
)  # fmt: skip
def test_what_is_no_program(folders, said, monkeypatch, capsys):
    monkeypatch.setattr(run, "EXAMPLES", folders)
    assert main(["run", "sofmax"]) == 2
    assert said in capsys.readouterr().err


def test_the_target_is_a_setting(folder, capsys):
    (folder / "t.py").write_text(
        "from tilewright.base.config import current\nprint(current().target)\n"
    )
    file = str(folder / "t.py")
    for given in (["--arch", "sm_100", file], [file, "--arch", "sm_100"], [file, "--arch=sm_100"]):
        assert main(["run", *given]) == 0
        assert capsys.readouterr().out == "sm_100\n"


def test_the_command_comes_before_the_environment(folder, capsys, monkeypatch):
    (folder / "t.py").write_text(
        "from tilewright.base.config import current\nprint(current().target)\n"
    )
    with override(target="sm_80"):
        assert main(["run", str(folder / "t.py")]) == 0
        assert main(["run", str(folder / "t.py"), "--arch", "sm_90"]) == 0
    assert capsys.readouterr().out == "sm_80\nsm_90\n"


def test_options_behind_the_program_are_ours_up_to_two_dashes(folder, capsys):
    program = str(folder / "program.py")
    assert main(["run", program, "--device", "reference", "x", "--device", "y"]) == 0
    assert main(["run", program, "--device=reference", "--", "--device", "y"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "reference beside ['x', '--device', 'y'] __main__"
    assert second == "reference beside ['--device', 'y'] __main__"


@pytest.mark.parametrize(
    ("given", "problem"),
    [(["--arch", "foo"], "there is no 'foo'; --arch is one of sm_80, "),
     (["--arch", "cpu"], "there is no 'cpu'"), (["--arch"], "--arch needs a value")],
)  # fmt: skip
def test_architectures_that_are_none(folder, given, problem, capsys):
    assert main(["run", str(folder / "program.py"), *given]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "status"), [("raise SystemExit(3)", 3), ("raise SystemExit", 0),
                         ("raise SystemExit('no')", 1)],
)  # fmt: skip
def test_the_status_is_the_programs(folder, code, status):
    (folder / "e.py").write_text(code)
    assert main(["run", str(folder / "e.py")]) == status


def test_our_errors_are_one_text(folder, capsys):
    (folder / "e.py").write_text("import tilewright as tw\ntw.device('frob').__enter__()\n")
    assert main(["run", str(folder / "e.py")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("tilewright: ") and "Traceback" not in error


def test_what_is_not_there(capsys):
    assert main(["run", "no_such_example"]) == 2
    error = capsys.readouterr().err
    assert "no_such_example" in error and "hello_world" in error

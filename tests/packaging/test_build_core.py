"""The tools that build the native core: which are taken, and what is said of those missing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from source_tree import ROOT

SPEC = importlib.util.spec_from_file_location("build_core", ROOT / "native" / "build_core.py")
assert SPEC is not None
assert SPEC.loader is not None
build_core = importlib.util.module_from_spec(SPEC)
sys.modules["build_core"] = build_core
SPEC.loader.exec_module(build_core)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without any tool; the function it is adds one that says something."""

    def add(name: str, said: str = "") -> str:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho '{said}'\n")
        program.chmod(0o755)
        return str(program)

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(build_core.sysconfig, "get_path", lambda _: str(tmp_path / "none"))
    monkeypatch.setattr(build_core, "find_zig", lambda: None)
    build_core.find_cmake.cache_clear()
    yield add
    build_core.find_cmake.cache_clear()


def test_wheels_stand_in_for_what_is_missing(machine):
    assert build_core.lacking() == [build_core.CMAKE, build_core.NINJA, build_core.ZIG]


def test_nothing_is_asked_for_where_all_is_there(machine):
    machine("cmake", "cmake version 3.25.1")
    machine("ninja")
    machine("clang++")
    assert build_core.lacking() == []


@pytest.mark.parametrize(
    ("version", "is_enough"), [("3.24.9", False), ("3.25.0", True), ("4.1.0", True)]
)
def test_an_old_cmake_is_none(machine, version, is_enough):
    machine("cmake", f"cmake version {version}")
    assert (build_core.CMAKE not in build_core.lacking()) is is_enough


def test_the_compiler_that_is_named_comes_first(machine, monkeypatch):
    found = machine("g++")
    assert build_core.find_compiler() == found
    first = machine("c++")
    assert build_core.find_compiler() == first
    monkeypatch.setenv("CXX", "ccache clang++-18")
    assert build_core.find_compiler() == "ccache clang++-18"


def test_zig_is_taken_where_there_is_no_other(machine, monkeypatch, tmp_path):
    machine("cmake", "cmake version 4.0.0")
    machine("ninja")
    zig = tmp_path / "a folder" / "zig"
    zig.parent.mkdir()
    zig.write_text('#!/bin/sh\necho "$@"\n')
    zig.chmod(0o755)
    monkeypatch.setattr(build_core, "find_zig", lambda: str(zig))
    tools = build_core.find_tools(tmp_path / "tree")
    said = subprocess.run([tools.compiler, "-c", "a b"], capture_output=True, text=True, check=True)
    assert said.stdout == "c++ -mcpu=baseline -c a b\n"


def test_what_is_missing_is_said_with_a_command_for_it(machine, tmp_path):
    machine("ninja")
    with pytest.raises(build_core.BuildError) as caught:
        build_core.find_tools(tmp_path)
    assert f"-m pip install '{build_core.CMAKE}' '{build_core.ZIG}'" in str(caught.value)


def test_missing_headers_are_named(machine, tmp_path):
    tools = build_core.Tools("cmake", "ninja", "c++")
    with pytest.raises(build_core.BuildError, match=r"python3\.\d+-dev on Debian"):
        build_core._configure(tools, "release", tmp_path)


def test_an_unknown_preset_is_refused(capsys):
    with pytest.raises(SystemExit):
        build_core.main(["fast"])
    assert (
        "there is no preset fast; release, debug, asan, tsan are there" in capsys.readouterr().err
    )


def test_each_python_has_its_own_tree():
    assert build_core.tree_of("asan").name.startswith("native-asan-cpython-")
    assert build_core.tree_of("asan").parent == ROOT / "build"


def test_a_failing_step_shows_what_it_said(machine):
    program = machine("step", "this is wrong")
    Path(program).write_text("#!/bin/sh\necho this is wrong\nexit 3\n")
    with pytest.raises(build_core.BuildError, match="this is wrong\n\nthis failed: "):
        build_core._run([program])


COMPILERS = {
    "refuses the flag": "exit 1",
    "makes what never starts": "printf '#!/bin/sh\\nexit 1\\n' >$program; chmod +x $program",
    "ignores the flag": "printf '#!/bin/sh\\nexit 0\\n' >$program; chmod +x $program",
    "sanitizes": "printf '#!/bin/sh\\nexit $#\\n' >$program; chmod +x $program",
}


@pytest.mark.parametrize("which", COMPILERS)
@pytest.mark.parametrize("preset", ["asan", "tsan"])
def test_a_compiler_without_sanitizers_is_found_out(monkeypatch, tmp_path, preset, which):
    compiler = tmp_path / "c++"
    last = 'for program in "$@"; do :; done'
    compiler.write_text(f"#!/bin/sh\n{last}\n{COMPILERS[which]}\n")
    compiler.chmod(0o755)
    assert build_core.can_sanitize(preset, str(compiler)) is (which == "sanitizes")


def test_the_module_in_place_is_replaced_only_by_another(tmp_path):
    """By a rename: a program that has loaded the old one keeps it."""
    cmake = build_core.find_cmake()
    if cmake is None:
        pytest.skip("there is no CMake")
    new, old = tmp_path / "new.so", tmp_path / "old.so"
    new.write_bytes(b"1")

    def put() -> int:
        script = ROOT / "native" / "inplace.cmake"
        command = [cmake, "-D", f"FROM={new}", "-D", f"TO={old}", "-P", str(script)]
        subprocess.run(command, check=True, capture_output=True)
        return old.stat().st_ino

    first = put()
    assert put() == first
    with old.open("rb") as loaded:
        new.write_bytes(b"2")
        assert put() != first
        assert loaded.read() == b"1"
    assert old.read_bytes() == b"2"
    assert len(list(tmp_path.iterdir())) == 2

"""What is shipped: an sdist that builds, and a wheel that runs without its checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from source_tree import ROOT

pytest.importorskip("scikit_build_core", reason="the build backend is not installed")

CALL = """
import sys
sys.path.insert(0, "native")
import build_backend
print(getattr(build_backend, sys.argv[1])(*sys.argv[2:]))
"""
MODULE = f"tilewright/_core{sysconfig.get_config_var('EXT_SUFFIX')}"


def call(hook: str, *arguments: str, cwd: Path) -> str:
    """Call a hook of the build backend as pip does, in a process of its own."""
    command = [sys.executable, "-c", CALL, hook, *arguments]
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The folder that an sdist of this checkout unpacks to."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(folder / call("build_sdist", str(folder), cwd=ROOT)) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    return folder / call("build_wheel", str(folder), cwd=unpacked)


def tracked(*folders: str) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


@pytest.mark.full
def test_the_sdist_has_all_sources_and_nothing_built(unpacked):
    names = {p.relative_to(unpacked).as_posix() for p in unpacked.rglob("*") if p.is_file()}
    folders = ("src", "native", "tests", "examples", "docs", "tools", "benchmarks", "typings")
    assert tracked(*folders, "Makefile", "LICENSE", "pyproject.toml") <= names
    assert not [
        name for name in names if name.endswith(".so") or name.startswith((".venv", "build/"))
    ]


@pytest.mark.full
def test_the_wheel_has_the_core_the_types_and_the_examples(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {MODULE, "tilewright/_core.pyi", "tilewright/py.typed"} <= names
    expected = {n.removeprefix("src/") for n in tracked("src")}
    expected |= {f"tilewright/{n}" for n in tracked("examples")}
    assert expected <= names
    others = {name for name in names - expected if ".dist-info/" not in name}
    assert others == {MODULE}


@pytest.mark.full
def test_the_wheel_is_for_this_python_and_machine(wheel):
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert f"-{tag}-{tag}" in wheel.name
    assert wheel.name.endswith(f"{os.uname().machine}.whl")


@pytest.mark.full
def test_the_wheel_runs(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "tilewright", "run", "hello_world"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.stdout.startswith("Hello, I am tile <0, 0, 0>"), ended.stderr


def test_an_editable_install_is_a_path_that_comes_after_pythonpath(tmp_path):
    """No finder of its own: another checkout that PYTHONPATH names goes before it."""
    wheel = call("build_editable", str(tmp_path), cwd=ROOT)
    content = zipfile.ZipFile(tmp_path / wheel)
    files = [name for name in content.namelist() if ".dist-info/" not in name]
    assert files == ["tilewright_editable.pth"]
    assert content.read(files[0]).decode() == f"{ROOT / 'src'}\n"


@pytest.mark.full
def test_a_package_without_its_core_says_how_to_build_it(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    (tmp_path / MODULE).unlink()
    ended = subprocess.run(
        [sys.executable, "-c", "import tilewright"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "ImportError: the native core of tilewright" in ended.stderr
    assert f"make inplace PYTHON={sys.executable}" in ended.stderr

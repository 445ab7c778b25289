"""Where the assembler is looked for, and what it is asked."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tilewright.backend.tileir import toolchain
from tilewright.base.config import override
from tilewright.base.errors import Code, CompileError

VERSION = "Cuda compilation tools, release 13.4, V13.4.92"


def script(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def answering(path, version=VERSION, listed="13.1\n13.2\n13.3\n13.4"):
    return script(
        path, f'case "$1" in --version) echo "{version}";; *) printf "{listed}\\n";; esac'
    )


@pytest.fixture
def nothing(monkeypatch, tmp_path):
    """A machine without an assembler."""
    monkeypatch.setattr(toolchain, "WHEEL", "no-such-wheel")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("CUDA_TOOLKIT_PATH", raising=False)
    with override(tileiras_path=""):
        yield


def test_none_is_an_error_that_says_how_to_get_one(nothing):
    with pytest.raises(CompileError) as caught:
        toolchain.find()
    assert caught.value.code is Code.TOOLCHAIN
    assert "pip install" in caught.value.hint


def test_the_setting_goes_first(nothing, tmp_path):
    path = answering(tmp_path / "mine")
    with override(tileiras_path=str(path)):
        assert toolchain.find() == path


def test_a_setting_that_names_nothing_is_an_error(nothing, tmp_path):
    with override(tileiras_path=str(tmp_path / "gone")), pytest.raises(CompileError) as caught:
        toolchain.find()
    assert "TILEWRIGHT_TILEIRAS_PATH" in caught.value.got


def test_toolkit_then_path(nothing, tmp_path, monkeypatch):
    on_path = answering(tmp_path / "empty" / "tileiras")
    assert toolchain.find() == on_path
    in_toolkit = answering(tmp_path / "toolkit" / "bin" / "tileiras")
    monkeypatch.setenv("CUDA_TOOLKIT_PATH", str(tmp_path / "toolkit"))
    assert toolchain.find() == in_toolkit


LISTS = {
    "13.1\\n13.2": (13, 2),
    "13.1\\n13.2\\n13.3\\n13.4\\n13.5\\n13.6": (13, 4),
    "": (13, 4),
}


@pytest.mark.parametrize("listed", LISTS)
def test_newest_bytecode_that_both_know(listed, tmp_path):
    path = answering(tmp_path / "tileiras", listed=listed)
    found = toolchain.identify(str(path), len(listed))
    assert found.version == LISTS[listed]
    assert found.release == "13.4.92"
    assert "13.4.92" in found.fingerprint


WRONG = {
    "silent": ("exit 0", "does not say its release, exit status 0"),
    "crash": ("kill -SEGV $$", "does not say its release, it crashed (SIGSEGV)"),
    "library": (
        "echo 'libc.so.6: version not found' >&2; exit 1",
        "exit status 1: libc.so.6: version not found",
    ),
    "old": (f'test "$1" = --version && echo {VERSION.replace("13.4", "12.9")!r}', "up to 12.9"),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_that_cannot_be_used(name, tmp_path):
    body, why = WRONG[name]
    path = script(tmp_path / "tileiras", body)
    with pytest.raises(CompileError) as caught:
        toolchain.identify(str(path), 0)
    assert why in caught.value.got


def test_one_that_does_not_answer_is_stopped_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(toolchain, "ASK_SECONDS", 0.2)
    path = script(tmp_path / "tileiras", f"sleep 1000 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(CompileError, match=r"stopped after 0\.2 seconds"):
        toolchain.identify(str(path), 0)
    child = tmp_path / "child"
    state = Path("/proc", child.read_text().strip() if child.exists() else "none", "stat")
    for _ in range(1000):  # what was killed ends when the system runs it next
        if is_over(state):
            return
        time.sleep(0.01)
    pytest.fail(state.read_text())


def is_over(state: Path) -> bool:
    """Tell whether a process has ended, by its file in /proc, which may vanish meanwhile."""
    try:
        return state.read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_description_stands_for_one_that_is_elsewhere(nothing, tmp_path):
    path = answering(tmp_path / "tileiras")
    with override(tileiras_path=str(path)):
        here = toolchain.find_toolchain()
    file = tmp_path / "tileiras.json"
    file.write_text(toolchain.description(here))
    with override(tileiras_path=str(file)):
        elsewhere = toolchain.find_toolchain()
    assert (elsewhere.fingerprint, elsewhere.version) == (here.fingerprint, here.version)
    assert here.is_here and not elsewhere.is_here


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"tileiras": {"release": "1"}}',
     '{"tileiras": {"release": "13.9.1", "version": [13, 9], "nbytes": 1}}'],
)  # fmt: skip
def test_a_description_that_is_none(text, nothing, tmp_path):
    file = tmp_path / "tileiras.json"
    file.write_text(text)
    with override(tileiras_path=str(file)), pytest.raises(CompileError, match="cannot be used"):
        toolchain.find_toolchain()


def test_what_it_compiles_for(tmp_path):
    listed = script(tmp_path / "new", 'printf "    =sm_80  -  SM 80\\n    =sm_90 - SM 90\\n"')
    assert toolchain.architectures(str(listed)) == ("sm_80", "sm_90")
    assert toolchain.architectures(str(script(tmp_path / "old", "exit 1"))) == ()
    assert toolchain.architectures(str(tmp_path / "gone")) == ()

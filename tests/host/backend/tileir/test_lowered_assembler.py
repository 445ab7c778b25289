"""Every way an assembler can fail is one typed error; played by scripts in its place."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from pathlib import Path

import pytest

from tilewright.backend.tileir import lowered as assembler
from tilewright.backend.tileir.lowered import Job, assemble
from tilewright.backend.tileir.toolchain import Toolchain
from tilewright.base.config import override
from tilewright.base.errors import Code, CompileError
from tilewright.base.source import SourceFile, Span

SOURCE = SourceFile("kernel.py", "@tw.entry\ndef k(z):\n    z.store(1)\n")
SPAN = Span(SOURCE, 3, 4, 3, 14, "k")
JOB = Job("k", "sm_90", b"bytecode", SPAN)
TARGET = 'while [ "$1" != "-o" ]; do shift; done; target=$2'


@pytest.fixture
def fake(tmp_path):
    """An assembler that is a shell script."""

    def make(script: str) -> Toolchain:
        path = tmp_path / "tileiras"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return Toolchain(str(path), "13.4.0", (13, 4), 1)

    return make


def failure(tool: Toolchain) -> CompileError:
    with pytest.raises(CompileError) as caught:
        assemble(JOB, tool)
    assert caught.value.code is Code.TOOLCHAIN
    assert caught.value.span is SPAN
    return caught.value


def test_gives_what_the_assembler_wrote(fake):
    assert assemble(JOB, fake(f"{TARGET}; printf '\\177ELFcode' > $target")) == b"\x7fELFcode"


def test_hands_over_the_bytecode_and_the_architecture(fake):
    arch = 'test "$1 $2" = "--gpu-name sm_90" || exit 9'
    same = 'test "$(cat $3)" = "bytecode" || exit 8'
    made = assemble(JOB, fake(f"{arch}; {same}; {TARGET}; printf '\\177ELF' > $target"))
    assert made == b"\x7fELF"


def test_variables_of_another_toolkit_are_not_passed_on(fake, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", "elsewhere")
    monkeypatch.setenv("CUDA_PATH", "elsewhere")
    unset = 'test -z "$CUDA_HOME$CUDA_PATH" || exit 7'
    assert assemble(JOB, fake(f"{unset}; {TARGET}; printf '\\177ELF' > $target"))


def test_line_info_is_asked_for_by_a_setting(fake):
    tool = fake(f'test "$3" = "--lineinfo" || exit 6; {TARGET}; printf "\\177ELF" > $target')
    assert "exit status 6" in str(failure(tool))
    with override(line_info=True):
        assert assemble(JOB, tool)


FAILURES = {
    "rejected": ("echo 'error at offset 3' >&2; exit 3", "exit status 3; it says: error at offset"),
    "bare-5": ("exit 5", "exit status 5; it says nothing"),
    "crash": ("kill -SEGV $$", r"it crashed \(SIGSEGV\)"),
    "aborted": ("echo oops >&2; kill -ABRT $$", r"it crashed \(SIGABRT\); it says: oops"),
    "nothing": ("exit 0", "it has no output"),
    "junk": (f"{TARGET}; echo junk > $target", "its output is not a cubin"),
    "binary-words": ("printf '\\377\\376' >&2; exit 1", "exit status 1; it says: .."),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failure(name, fake):
    script, expected = FAILURES[name]
    error = failure(fake(script))
    assert re.search(expected, str(error))
    assert "kernel.py:3:5" in str(error)


@pytest.mark.parametrize(
    ("script", "advice"),
    [("kill -KILL $$", "for lack of memory"), ("exit 3", "a bug in Tilewright"),
     ("exit 5", "try smaller tiles, or fewer values")],
)  # fmt: skip
def test_advice(script, advice, fake):
    assert advice in failure(fake(script)).hint


def test_the_bytecode_of_a_failure_is_saved(fake):
    error = failure(fake("exit 5"))
    saved = re.search(r"(\S+\.tileirbc)", error.hint)
    assert Path(saved.group(1)).read_bytes() == b"bytecode"
    assert failure(fake("exit 5")).hint == error.hint  # the same file when it fails again


def test_bytecode_that_cannot_be_saved(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"tilewright-{os.geteuid()}").write_text("in the way")
    assert "(the bytecode could not be saved: [Errno" in failure(fake("exit 5")).hint


def test_one_that_hangs_is_stopped_with_all_it_started(fake, tmp_path):
    tool = fake(f"sh -c 'echo $$ > {tmp_path}/child; exec sleep 1000' & sleep 1000")
    with override(tileiras_timeout=1):
        error = failure(tool)
    assert "stopped after 1 seconds" in error.got
    assert "TILEWRIGHT_TILEIRAS_TIMEOUT" in error.hint
    child = (tmp_path / "child").read_text().strip()
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_one_that_cannot_be_started(tmp_path):
    path = tmp_path / "tileiras"
    path.write_text("not a program")
    path.chmod(0o755)
    assert "cannot be started" in str(failure(Toolchain(str(path), "13.4.0", (13, 4), 1)))


def test_words_are_cut(fake):
    text = str(failure(fake("head -c 100000 /dev/zero | tr '\\0' x; exit 5")))
    assert len(text) < 4000


def on_a_terminal(tool: Toolchain, patience: float, monkeypatch) -> str:
    """What a compilation writes to a terminal."""
    monkeypatch.setattr(assembler, "PATIENCE_SECONDS", patience)
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assemble(JOB, tool)
        terminal.write("end")
        terminal.flush()
        text = ""
        while "end" not in text:  # what is written arrives in parts
            text += os.read(ours, 1000).decode()
    os.close(ours)
    return text.replace("end", "")


def test_a_terminal_is_told_what_takes_so_long(fake, monkeypatch):
    slow = fake(f"{TARGET}; printf '\\177ELF' > $target")
    assert on_a_terminal(slow, 60.0, monkeypatch) == ""
    text = on_a_terminal(slow, 1e-9, monkeypatch)
    assert re.match(r"tilewright: compiling `k` for sm_90 \.\.\. \d+\.\d s", text)


def test_others_are_told_once_after_five_seconds(fake, monkeypatch, capfd):
    tool = fake(f"{TARGET}; printf '\\177ELF' > $target")
    monkeypatch.setattr(assembler, "PATIENCE_SECONDS", 1e-9)
    assert assembler.SLOW_SECONDS == 5.0
    assemble(JOB, tool)
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(assembler, "SLOW_SECONDS", 1e-9)
    assemble(JOB, tool)
    said = "tilewright: compiling `k` for sm_90 takes more than 1e-09 s\n"
    assert capfd.readouterr().err == said


def test_one_that_is_stopped_sooner_says_nothing(fake, capfd):
    with override(tileiras_timeout=1):
        assert "stopped after 1 seconds" in failure(fake("sleep 60")).got
    assert capfd.readouterr().err == ""


def test_a_standard_error_that_is_closed(fake, monkeypatch):
    monkeypatch.setattr(assembler, "SLOW_SECONDS", 1e-9)
    for closed in (None, io.StringIO()):
        if closed is not None:
            closed.close()
        monkeypatch.setattr(sys, "stderr", closed)
        assert assemble(JOB, fake(f"{TARGET}; printf '\\177ELF' > $target"))


def test_one_that_is_too_old_for_the_architecture(fake):
    tool = fake('test "$1" = --help && echo "    =sm_80   -   SM 80" && exit 0; exit 1')
    error = failure(tool)
    assert "tileiras 13.4.0 cannot compile `k`: it does not support sm_90" in str(error)
    assert (error.expected, error.got) == ("sm_80", "sm_90")
    assert "pip install --upgrade" in error.hint


def test_one_that_is_only_described():
    error = failure(Toolchain("pack/tileiras.json", "13.4.0", (13, 4), 1, is_here=False))
    assert "`k` for sm_90 was not compiled ahead of time" in str(error)
    assert "pack/tileiras.json" in error.got


def test_its_own_files_go_where_ours_go_and_end_with_them(fake, tmp_path):
    told = f"echo $TMPDIR > {tmp_path}/where; touch $TMPDIR/left"
    same = 'test "$(dirname $target)" = "$TMPDIR" || exit 4'
    tool = fake(f"{told}; {TARGET}; {same}; printf '\\177ELF' > $target")
    assert assemble(JOB, tool)
    assert not Path((tmp_path / "where").read_text().strip()).exists()


def test_no_place_for_temporary_files(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    error = failure(fake("exit 5"))
    assert "no room for temporary files" in str(error)
    assert "TMPDIR" in error.hint


def test_a_full_disk(fake):
    error = failure(fake("echo 'LLVM ERROR: IO failure: No space left on device' >&2; exit 1"))
    assert "make room there, or set TMPDIR" in error.hint


def test_a_terminal_that_goes_away(fake, monkeypatch):
    monkeypatch.setattr(assembler, "PATIENCE_SECONDS", 1e-9)
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        os.close(ours)
        assert assemble(JOB, fake(f"{TARGET}; printf '\\177ELF' > $target"))

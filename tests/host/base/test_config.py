"""Settings come from one table, from the environment once, and from `override`."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tilewright.base.config import (
    SETTINGS,
    Config,
    cache_directory,
    current,
    from_environment,
    override,
    table,
)  # fmt: skip
from tilewright.base.errors import Error


def test_nothing_set_gives_the_defaults():
    assert from_environment({}) == Config()
    assert from_environment({"TILEWRIGHT_NUM_THREADS": ""}) == Config()


def test_the_table_and_the_record_have_the_same_names():
    assert [s.name for s in SETTINGS] == [f.name for f in dataclasses.fields(Config)]


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("TILEWRIGHT_DEVICE", " reference ", "device", "reference"),
        ("TILEWRIGHT_NUM_THREADS", "3", "num_threads", 3),
        ("TILEWRIGHT_SCRATCH_LIMIT", "4096", "scratch_limit", 4096),
        ("TILEWRIGHT_SCRATCH_LIMIT", "64k", "scratch_limit", 64 << 10),
        ("TILEWRIGHT_SCRATCH_LIMIT", "2 MiB", "scratch_limit", 2 << 20),
        ("TILEWRIGHT_SCRATCH_LIMIT", "1GB", "scratch_limit", 1 << 30),
        ("TILEWRIGHT_VERIFY", "on", "verify", True),
        ("TILEWRIGHT_VERIFY", "0", "verify", False),
        ("TILEWRIGHT_DUMP", "ir, llvm,,", "dump", frozenset({"ir", "llvm"})),
        ("TILEWRIGHT_DUMP_DIR", "out", "dump_dir", "out"),
        ("TILEWRIGHT_CACHE_DIR", " off", "cache_dir", "off"),
        ("TILEWRIGHT_CACHE_SIZE", "2G", "cache_size", 2 << 30),
    ],
)
def test_a_variable_is_read(variable, text, name, value):
    assert getattr(from_environment({variable: text}), name) == value


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("TILEWRIGHT_NUM_THREADS", "many"),
        ("TILEWRIGHT_NUM_THREADS", "-1"),
        ("TILEWRIGHT_SCRATCH_LIMIT", "M"),
        ("TILEWRIGHT_VERIFY", "maybe"),
    ],
)
def test_a_bad_value_names_the_variable(variable, text):
    with pytest.raises(Error) as caught:
        from_environment({variable: text})
    assert variable in str(caught.value)
    assert repr(text) in str(caught.value)


def test_the_message_of_a_bad_value(golden):
    with pytest.raises(Error) as caught:
        from_environment({"TILEWRIGHT_NUM_THREADS": "many"})
    golden(str(caught.value))


def test_a_misspelt_variable_warns():
    with pytest.warns(RuntimeWarning, match="did you mean TILEWRIGHT_NUM_THREADS"):
        from_environment({"TILEWRIGHT_NUM_THREAD": "3"})
    with pytest.warns(RuntimeWarning, match="known: TILEWRIGHT_DEVICE"):
        from_environment({"TILEWRIGHT_XYZZY": "3"})


def test_override_holds_inside_the_block_only():
    before = current()
    with override(num_threads=7) as inner:
        assert current() is inner
        assert inner.num_threads == 7
        with override(device="reference"):
            assert (current().num_threads, current().device) == (7, "reference")
        assert current() is inner
    assert current() is before


def test_override_ends_with_an_exception():
    before = current()
    with pytest.raises(KeyError), override(num_threads=7):
        raise KeyError
    assert current() is before


def test_override_is_not_seen_by_other_threads():
    seen = []
    with override(num_threads=7):
        worker = threading.Thread(target=lambda: seen.append(current().num_threads))
        worker.start()
        worker.join()
    assert seen == [current().num_threads]


def test_override_refuses_an_unknown_name():
    with pytest.raises(TypeError, match=r"no setting is named threads; there are device, num_"):
        override(threads=3).__enter__()


@pytest.mark.parametrize(
    ("setting", "xdg", "expected"),
    [
        ("", None, "{home}/.cache/tilewright"),
        ("", "", "{home}/.cache/tilewright"),
        ("", "relative", "{home}/.cache/tilewright"),
        ("", "/xdg", "/xdg/tilewright"),
        ("/elsewhere", "/xdg", "/elsewhere"),
        ("~/mine", None, "{home}/mine"),
        ("below", None, "{here}/below"),
    ],
)
def test_where_compiled_code_is_kept(setting, xdg, expected, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    environment = {} if xdg is None else {"XDG_CACHE_HOME": xdg}
    found = cache_directory(Config(cache_dir=setting), environment)
    assert found == Path(expected.format(home=tmp_path, here=Path.cwd()))


@pytest.mark.parametrize("setting", ["off", "OFF"])
def test_compiled_code_need_not_be_kept(setting):
    assert cache_directory(Config(cache_dir=setting), {"XDG_CACHE_HOME": "/xdg"}) is None


def test_a_user_without_a_home_keeps_nothing(monkeypatch):
    def none(self):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", none)
    assert cache_directory(Config(), {}) is None


def test_the_environment_is_read_once():
    code = (
        "import os\n"
        "from tilewright.base.config import current\n"
        "first = current()\n"
        "os.environ['TILEWRIGHT_NUM_THREADS'] = '9'\n"
        "assert first.num_threads == 5 and current() is first\n"
    )
    environment = {**os.environ, "TILEWRIGHT_NUM_THREADS": "5"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_the_table_lists_every_setting():
    lines = table().splitlines()
    assert len(lines) == 2 + len(SETTINGS)
    assert all(line.count("|") == 6 for line in lines)

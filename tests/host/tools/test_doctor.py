"""What the doctor finds, what it advises, and when it says that something is wrong."""

from __future__ import annotations

import errno
import json
import os

import pytest

from tilewright.backend.ptx import module
from tilewright.backend.tileir import toolchain
from tilewright.base.config import override
from tilewright.tools import doctor
from tilewright.tools.command import main
from tilewright.tools.machine import Driver, Gpu

H200 = Gpu("NVIDIA H200", "sm_90", 141 << 30, 132)


@pytest.fixture
def driver(monkeypatch):
    def install(found):
        monkeypatch.setattr(doctor, "ask_driver", lambda: found)

    install(Driver((13, 2), (H200,)))
    return install


@pytest.fixture
def tileiras(tmp_path):
    """An assembler that knows two architectures."""
    path = tmp_path / "tileiras"
    path.write_text(
        '#!/bin/sh\ncase "$1" in --version) echo "release 13.4, V13.4.92";; --help)'
        ' echo "=sm_80 - x"; echo "=sm_90 - x";; *) echo 13.4;; esac\n'
    )
    path.chmod(0o755)
    with override(tileiras_path=str(path)):
        yield path


@pytest.fixture
def cache(tmp_path):
    with override(cache_dir=str(tmp_path / "cache")):
        yield tmp_path / "cache"


def report(capsys, status=0):
    assert main(["doctor"]) == status
    return capsys.readouterr().out


def test_a_machine_with_everything(driver, tileiras, cache, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_packages", lambda: iter(()))
    monkeypatch.setattr(doctor, "find_libdevice", lambda: module.Libdevice("it.bc", "1"))
    monkeypatch.setattr(doctor, "SECTIONS", tuple(s for s in doctor.SECTIONS if s[0] != "Packages"))
    text = report(capsys)
    assert "supports CUDA 13.2" in text
    assert "NVIDIA H200, sm_90, 132 SMs, 141.0 GiB" in text
    assert f"13.4.92 at {tileiras}" in text and "sm_80, sm_90" in text
    assert f"{cache}, not made yet" in text
    assert "TILEWRIGHT_TILEIRAS_PATH" in text
    assert text.endswith("Nothing is missing.\n")


def test_without_a_driver_all_is_well_on_the_cpu(driver, tileiras, capsys):
    driver(Driver(error="libcuda.so.1 cannot be loaded", missing=True))
    text = report(capsys)
    assert "missing: libcuda.so.1" in text
    assert "install NVIDIA's driver" in text and "run on the CPU without" in text


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Driver((12, 8), (H200,)), "wrong: supports CUDA 12.8"),
        (Driver((13, 0), (), "cuInit: CUDA_ERROR_NO_DEVICE (100)"), "wrong: cuInit"),
        (Driver(error="it did not answer within 20 seconds"), "wrong: it did not answer"),
        (Driver((13, 0), (Gpu("B200", "sm_100", 1, 1),)), "wrong: B200, sm_100"),
    ],
    ids=["old", "no-device", "hangs", "too-new-device"],
)
def test_a_driver_that_cannot_be_used(driver, tileiras, found, said, capsys):
    driver(found)
    text = report(capsys, 1)
    assert said in text and "To do:" in text


def test_no_assembler(driver, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(toolchain, "WHEEL", "no-such-wheel")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_TOOLKIT_PATH", raising=False)
    with override(tileiras_path=""):
        text = report(capsys)
    assert "missing: no wheel no-such-wheel" in text
    assert "pip install 'tilewright[cuda]'" in text


def test_whose_functions_are_used(driver, tileiras, tmp_path, monkeypatch, capsys):
    file = tmp_path / "libdevice.10.bc"
    with override(libdevice=str(file)):
        assert "wrong: there is no such file" in report(capsys, 1)
        file.write_bytes(b"BC\xc0\xde")
        assert str(file) in report(capsys)
    with override(libdevice="off"):
        assert "off: SIMT kernels use our own functions" in report(capsys)
    monkeypatch.setattr(module, "_candidates", lambda: iter(()))
    with override(libdevice=""):
        text = report(capsys)
    assert "missing: not found: SIMT kernels use our own" in text
    assert "pip install 'tilewright[cuda]'" in text


def test_an_assembler_that_is_only_described(driver, tileiras, tmp_path, capsys):
    file = tmp_path / "tileiras.json"
    file.write_text(toolchain.description(toolchain.find_toolchain()))
    with override(tileiras_path=str(file)):
        assert "kernels come from the cache alone" in report(capsys)


def test_packages_that_are_missing(monkeypatch):
    monkeypatch.setattr(
        doctor, "requires", lambda name: ["nothing-such>=3", "other-such>=1; extra == 'cuda'",
                                          "third-such; extra == 'dev'"],
    )  # fmt: skip
    assert [(f.what, f.state, f.fix) for f in doctor._packages()] == [
        ("nothing-such", "missing", "pip install 'nothing-such>=3'"),
        ("other-such", "missing", "pip install 'tilewright[cuda]'"),
    ]


def test_a_cache_that_is_open_to_others(driver, tileiras, cache, capsys):
    cache.mkdir(mode=0o700)
    cache.chmod(0o755)
    assert "mode 0755" in report(capsys, 1)
    cache.chmod(0o700)
    assert "mode 0700" in report(capsys)
    with override(cache_dir="off"):
        assert "off: every process" in report(capsys)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_a_cache_that_cannot_be_written(driver, tileiras, cache, capsys, monkeypatch, code):
    def refuse(descriptor):
        raise OSError(code, os.strerror(code))

    cache.mkdir(mode=0o700)
    monkeypatch.setattr(os, "fsync", refuse)
    said = report(capsys, 1)
    assert f"wrong: {cache} cannot be written: {os.strerror(code)}" in said
    assert "set TILEWRIGHT_CACHE_DIR to another directory" in said
    assert list(cache.iterdir()) == []
    monkeypatch.undo()
    assert f"{cache}, mode 0700" in report(capsys)
    assert list(cache.iterdir()) == []


def test_for_programs(driver, tileiras, capsys):
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == [title for title, _ in doctor.SECTIONS]
    assert found["NVIDIA driver"][0] == {
        "what": "driver", "found": "supports CUDA 13.2", "state": "ok", "fix": "",
    }  # fmt: skip

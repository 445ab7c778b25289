from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = """
import sys
from tilewright.base import llvm
def is_mapped():
    return "libllvmlite" in open("/proc/self/maps").read()
assert not is_mapped() and "llvmlite" not in sys.modules
importing = llvm.importlib.import_module
def import_module(name):
    print(name, is_mapped())
    return importing(name)
llvm.importlib.import_module = import_module
assert llvm.llvm.llvm_version_info[0] > 10
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it lists what is loaded by /proc")
def test_the_library_is_there_before_llvmlite_loads_it():
    """What llvmlite does holds the GIL while the library is linked."""
    command = [sys.executable, "-c", LOADED]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert text.startswith("llvmlite.binding True\n")


def test_errors_are_those_of_llvmlite(monkeypatch):
    from tilewright.base import llvm

    monkeypatch.setitem(llvm.LIBRARIES, sys.platform, "no_such_library.so")
    llvm.load_library()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    llvm.load_library()

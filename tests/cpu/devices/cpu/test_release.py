from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from tilewright.devices.cpu.release import PLAIN, VERSIONED
from tilewright.tensors.dlpack import Plain, Versioned, new_capsule


@pytest.mark.parametrize(("form", "kind"), [(PLAIN, Plain), (VERSIONED, Versioned)])
def test_a_deleter_sets_the_word_its_context_points_to(form, kind):
    word = ctypes.c_uint64(0)
    managed = (ctypes.c_uint64 * 10)()
    managed[kind.context.offset // 8] = ctypes.addressof(word)
    # Without the interpreter's lock, as other libraries may call it.
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(form.deleter)(ctypes.addressof(managed))
    assert word.value == 1


@pytest.mark.parametrize("form", [PLAIN, VERSIONED])
@pytest.mark.parametrize("is_taken", [False, True])
def test_a_capsule_that_nobody_took_over_calls_the_deleter(form, is_taken):
    word = ctypes.c_uint64(0)
    managed = (ctypes.c_uint64 * 10)()
    for i in range(10):
        managed[i] = ctypes.addressof(word)
    capsule = new_capsule(form.name, ctypes.addressof(managed), form.destructor)
    other = b"used_" + form.name
    if is_taken:
        set_name = ctypes.pythonapi.PyCapsule_SetName
        assert set_name(ctypes.py_object(capsule), ctypes.c_char_p(other)) == 0
    del capsule
    assert word.value == (not is_taken)


AT_EXIT = """
import ctypes, sys
import numpy as np
import tilewright as tw
t = tw.zeros((4,)).sync()
kept = np.from_dlpack(t)
sys.kept_to_the_very_end = [np.from_dlpack(t), t.__dlpack__(), t.__dlpack__(max_version=(1, 0))]
leaked = np.from_dlpack(t)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(leaked))
"""


def test_exports_may_outlive_everything():
    run = subprocess.run(
        [sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=120
    )
    assert (run.returncode, run.stderr) == (0, "")

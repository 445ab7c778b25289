from __future__ import annotations

import ctypes

from tilewright.devices.cuda.ptx_log import MOST_LINES, complaints
from tilewright.devices.cuda.results import INVALID_PTX, refusal, with_words

LOAD = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p
)


def loader(text):
    """As cuModuleLoadDataEx: writes its log where the options say."""

    @LOAD
    def load(module, code, count, kinds, values):
        assert (ctypes.c_int * count).from_address(kinds)[:] == [5, 6]
        where, room = (ctypes.c_void_p * count).from_address(values)
        written = text.replace("CODE", code.decode()).encode()[: room - 1]
        ctypes.memmove(where, written + b"\0", len(written) + 1)
        return INVALID_PTX

    return load


def said(text, code=b"ptx\0"):
    load = loader(text)
    return complaints(ctypes.cast(load, ctypes.c_void_p).value, code)


def test_what_the_compiler_says():
    text = "ptxas application input, line 3; error : wrong in CODE\n\n  ptxas fatal : aborted\n"
    lines = said(text).splitlines()
    assert lines == [
        "ptxas application input, line 3; error : wrong in ptx",
        "ptxas fatal : aborted",
    ]
    assert len(said("a\n" * 10_000).splitlines()) == MOST_LINES
    assert said("") == ""


def test_the_error_has_its_words():
    error = refusal("cuModuleLoadData", INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "invalid")
    assert with_words(error, "") is error
    known = with_words(error, "line 3: wrong")
    assert known.status == INVALID_PTX
    assert "line 3: wrong" in str(known) and "the PTX is not valid" in str(known)

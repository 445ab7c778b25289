"""How many files a reader passes through who follows one kernel through the compiler."""

from __future__ import annotations

import runpy
import sys
from collections import Counter

import tilewright as tw
from source_tree import ROOT, SOURCES
from tilewright import f32
from tilewright.compile.pipeline import compile_kernel
from tilewright.compile.runner import Runner
from tilewright.launch.inspection import Inspection

MOST_FILES = 88
"""A merge lowers this number; a change that would raise it splits an idea, or adds one."""


def files_of(compile_it):
    """Return the files of the package whose functions run, with how many calls each has."""
    found: Counter[str] = Counter()
    package = f"{SOURCES}/"

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package) and code.co_name != "<module>":
            found[code.co_filename.removeprefix(package)] += 1

    sys.setprofile(note)
    try:
        compile_it()
    finally:
        sys.setprofile(None)
    return found


def test_few_files_compile_softmax():
    kernel = runpy.run_path(str(ROOT / "examples" / "softmax.py"))["row_softmax"]
    arguments = tw.meta((37, 1000), f32).partition_mut((4, 1024)), tw.meta((37, 1000), f32)
    signature = Inspection(kernel.kernel, arguments, {}).signature

    def compile_it():
        compile_kernel(kernel.kernel.source, signature, "cpu", Runner("row_softmax", store=None))

    compile_it()  # which loads the compiler
    found = files_of(compile_it)
    listed = "\n".join(f"{calls:7} {file}" for file, calls in sorted(found.items()))
    assert {"compile/pipeline.py", "backend/cpu/stages.py"} <= found.keys()
    assert len(found) <= MOST_FILES, f"{len(found)} files\n{listed}"

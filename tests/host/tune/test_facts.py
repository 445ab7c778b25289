"""What a choice depends on."""

from __future__ import annotations

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.tune.facts import driver_release, source_of


def made(text):
    names = {"tw": tw, "tl": tl, "f32": f32}
    tw.exec(text, names)
    return names["k"]


TEXT = """
@tw.entry
def k(z: tl.TensorMut[f32]) -> None:
    z.store(tl.zeros(z.shape, f32))
"""


def test_the_source_is_the_code_of_a_kernel_alone():
    same = TEXT.replace("    z.store", "\n    # a comment\n    z.store")
    assert source_of(made(TEXT)) == source_of(made(same))
    assert source_of(made(TEXT)) != source_of(made(TEXT.replace("zeros", "ones")))


def test_the_release_of_the_driver(tmp_path):
    file = tmp_path / "version"
    file.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build\n"
        "GCC version: 12.2.0\n"
    )
    assert driver_release(file) == "580.159.03"
    assert driver_release(tmp_path / "none") is None

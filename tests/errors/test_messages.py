"""Every wrong program gets its own message, kept word for word in a golden file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from errors.programs_access import PROGRAMS as ACCESS
from errors.programs_habits import PROGRAMS as HABITS
from errors.programs_language import PROGRAMS as LANGUAGE
from errors.programs_launch import PROGRAMS as LAUNCH
from errors.programs_mapped import PROGRAMS as MAPPED
from errors.programs_meeting import PROGRAMS as MEETING
from errors.programs_parameters import PROGRAMS as PARAMETERS
from errors.programs_races import PROGRAMS as RACES
from errors.programs_slices import PROGRAMS as SLICES
from errors.programs_stdlib import PROGRAMS as STDLIB
from errors.programs_threads import PROGRAMS as THREADS
from errors.programs_values import PROGRAMS as VALUES
from source_tree import ROOT
from tilewright import simt
from tilewright.base.errors import Code
from tilewright.frontend.capture.sources import execute

PARTS = (
    LANGUAGE, VALUES, LAUNCH, MAPPED, THREADS, SLICES, MEETING, RACES, STDLIB, PARAMETERS, ACCESS,
    HABITS,
)  # fmt: skip
PROGRAMS = {name: text for part in PARTS for name, text in part.items()}
GOLDENS = "errors"


def launch(kernel: Any, *args: Any, **constants: Any) -> None:
    """Launch on a fresh output of four elements, one block."""
    z = tw.ones((4,)).sync()
    kernel(z.partition_mut((4,)), *args, **constants).sync()


def namespace() -> dict[str, Any]:
    names = {t.__name__: t for t in tw.base.dtypes.ALL}
    return {**names, "np": np, "tw": tw, "tl": tl, "simt": simt, "launch": launch,
            "Literal": Literal, "TypeVar": TypeVar}  # fmt: skip


def message_of(source: str) -> str:
    with pytest.raises((tw.Error, TypeError, AttributeError)) as caught:
        execute(source.strip("\n"), namespace())
    error = caught.value
    text = re.sub(r"<tilewright source \d+>", "program.py", f"{type(error).__name__}: {error}")
    text = re.sub(r"\S*/tilewright/kernels/", "tilewright/kernels/", text)
    return re.sub(r"\S*test_messages\.py:\d+", "test_messages.py", text) + "\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_message(name: str, golden: Callable[..., None]) -> None:
    golden(message_of(PROGRAMS[name]), name=name)
    z = tw.ones((4,)).sync()
    assert z.to_numpy().sum() == 4, "the device is not usable afterwards"


def test_at_least_sixty_programs() -> None:
    assert len(PROGRAMS) == sum(map(len, PARTS)) >= 60


def test_every_code_has_a_program() -> None:
    unreached = {
        Code.NOT_INFERRED: "shapes and types are always known at a launch",
        Code.PADDING: "a warning, tested with the reductions",
        Code.UNWRITTEN: "a warning, tested in test_build_lint_unwritten_outputs.py",
        Code.INTERNAL: "a bug by definition",
        Code.TOOLCHAIN: "of CUDA kernels, tested in tests/host/backend/tileir",
    }
    folder = ROOT / "tests" / "goldens" / GOLDENS / "test_messages"
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.txt")]
    seen = {code for text in texts for code in re.findall(r"\[([a-z-]+)\]", text)}
    missing = {code for code in Code if code not in unreached and code.value not in seen}
    assert not missing

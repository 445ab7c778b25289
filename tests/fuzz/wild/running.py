"""Runs a random kernel on a device, and says how two devices compare."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from fuzz.wild.program import DTYPES, Array, Wild
from tilewright.base.errors import Error, PaddingWarning
from tilewright.frontend.capture.sources import execute

NAMES = {**DTYPES, "tl": tl}
POISON = 0xA5
DOWN = ("CUDA_ERROR", "has failed on cuda")
"""What errors of a device say that takes no more work."""
AGREES, REFUSED, DIFFERS, FAILS, DOWNS = "agrees", "refused", "differs", "fails", "brings it down"


@dataclass(frozen=True)
class Verdict:
    """What became of a program, and the words for it."""

    kind: str
    words: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether somebody has to look at it."""
        return self.kind not in (AGREES, REFUSED)


def run(program: Wild, device: str) -> list[Array]:
    """The outputs of a device; what a kernel leaves alone is poison."""
    kernel = tw.entry(execute(program.source, dict(NAMES))["k"])
    with warnings.catch_warnings(), tw.device(device):
        warnings.simplefilter("ignore", PaddingWarning)
        outputs = [tw.from_numpy(_poisoned(program, name)).sync() for name in program.outputs]
        parts = [z.partition_mut(program.tile) for z in outputs]
        if program.mapped is not None:
            parts = [part.map(program.mapped) for part in parts]
        kernel(*parts, *(x.array() for x in program.inputs), program.n).sync()
        return [z.to_numpy() for z in outputs]


def _poisoned(program: Wild, name: str) -> Array:
    dtype = DTYPES[name].np
    if dtype == np.bool_:
        return np.ones(program.extents, dtype)
    filled = np.full((*program.extents, dtype.itemsize), POISON, np.uint8)
    return filled.view(dtype).reshape(program.extents)


def judge(program: Wild, device: str) -> Verdict:
    """Compare a device with the reference, bit for bit."""
    try:
        expected = run(program, "reference")
    except Error as error:
        return Verdict(REFUSED, f"{type(error).__name__}: {error}")
    try:
        found = run(program, device)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        return Verdict(DOWNS if any(w in words for w in DOWN) else FAILS, words)
    for k, (want, got) in enumerate(zip(expected, found, strict=True)):
        if not same(want, got):
            return Verdict(DIFFERS, f"output {k}\nreference\n{want}\n{device}\n{got}")
    return Verdict(AGREES)


def same(a: Array, b: Array) -> bool:
    """Whether two arrays have the same bits, but for those of NaN."""
    if a.dtype.kind not in "fV" and a.dtype.name != "bfloat16":
        return bool(np.array_equal(a, b))
    nan = np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
    bits = f"u{a.dtype.itemsize}"
    return bool(np.all(nan | (a.view(bits) == b.view(bits))))


def judge_assembly(program: Wild) -> Verdict:
    """Whether a program that the reference takes is one for CUDA, too; nothing of it is run."""
    try:
        run(program, "cuda")
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        try:
            run(program, "reference")
        except Error:
            return Verdict(REFUSED, words)
        return Verdict(FAILS, words)
    return Verdict(AGREES)

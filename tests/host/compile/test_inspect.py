"""Texts and times come from a compilation made for them."""

from __future__ import annotations

import tilewright.lang as tl
from tilewright.base.config import override
from tilewright.base.dtypes import f32
from tilewright.compile.inspect import stage_texts, stage_times
from tilewright.compile.pipeline import PASSES
from tilewright.frontend.capture.annotations import capture
from tilewright.ir.signature import OutputSpec, Signature

SIGNATURE = Signature((OutputSpec("z", f32, (None,), (1,), (4,)),))


def double(z: tl.TensorMut) -> None:
    z.store(z.load() * 2.0)


def test_texts_of_every_stage_in_order():
    texts = stage_texts(capture(double), SIGNATURE, "reference")
    once = list(dict.fromkeys(p.__name__ for p in PASSES))
    assert list(texts) == ["frontend", *once, "passes", "interpret"]
    assert all(text.endswith("\n") for text in texts.values())
    assert texts["passes"].startswith("kernel double(")
    assert "mulf" in texts["passes"]


def test_times_of_every_step():
    times = stage_times(capture(double), SIGNATURE, "reference")
    assert {"frontend", "canonicalize", "dce", "interpret"} <= times.keys()
    assert all(0 < seconds < 60 for seconds in times.values())


def test_native_code_is_made_although_it_is_kept(tmp_path):
    with override(cache_dir=str(tmp_path / "cache")):
        for _ in range(2):
            texts = stage_texts(capture(double), SIGNATURE, "cpu")
            assert list(texts)[-3:] == ["plan", "llvm", "object"]
            assert "define void" in texts["llvm"]
            assert list(stage_times(capture(double), SIGNATURE, "cpu"))[-3:] == [
                "plan", "llvm", "object",
            ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []

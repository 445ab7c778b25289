from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32
from tilewright.ir.artifact import Printed, Site
from tilewright.launch.report import printed_text


@pytest.fixture(autouse=True)
def on_reference():
    with tw.device("reference"):
        yield


@tw.entry
def far(z: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
    z.store(x.load_tile(z.shape, (tl.block_id(0) + n, 0)))


@tw.entry
def asserting(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, z)
    assert tl.reduce_sum(tl.reduce_sum(tile, 0), 0) < 3.0, "too much"
    z.store(tile)


@tw.entry
def whole_rows(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    assert z.shape[1] >= x.shape[1], "a block needs whole rows"
    z.store(tl.load_tile_like(x, z))


@tw.entry
def reading_first(z: tl.TensorMut[f32]) -> None:
    z.store(z.load() + 1)


@tw.entry
def talking(x: tl.Tensor[f32]) -> None:
    i = tl.block_id(0)
    tile = x.load_tile((2,), (i,))
    print("block", i, "of", tl.num_blocks(0), tile)
    print(f"sum {tl.reduce_sum(tile, 0):.3f}|{i:4d}|")


def out(*shape, tile):
    return tw.zeros(shape).sync().partition(tile)


def ones(*shape):
    return np.ones(shape, "f4")


TOO_MUCH = np.zeros((4, 4), "f4")
TOO_MUCH[3, 0] = 5  # blocks run in any order: only one may fail

WRONG = {
    "index-past-the-end": lambda: far(out(4, 4, tile=(2, 4)), ones(4, 4), 1),
    "index-negative": lambda: far(out(4, 4, tile=(2, 4)), ones(4, 4), -1),
    "assertion": lambda: asserting(out(4, 4, tile=(2, 2)), np.eye(4, dtype="f4") + TOO_MUCH),
    "launch-check": lambda: whole_rows(out(4, 4, tile=(2, 2)), ones(4, 4)),
}


@pytest.mark.parametrize("name", WRONG)
def test_failures(name, golden, places):
    with pytest.raises(tw.LaunchError) as caught:
        WRONG[name]().sync()
    golden(places(caught.value), name)


def test_the_device_stays_usable():
    with pytest.raises(tw.LaunchError):
        far(out(4, 4, tile=(2, 4)), ones(4, 4), 100).sync()
    z = far(out(4, 4, tile=(2, 4)), ones(4, 4), 0).out().to_numpy().sync()
    assert (z == 1).all()


def test_reading_an_output_that_nothing_has_written():
    z = tw.empty((4,)).sync()
    with pytest.raises(tw.LaunchError, match="the reference device found problems"):
        reading_first(z.partition_mut((2,))).sync()


def test_prints_in_block_order(capsys):
    talking(np.arange(6, dtype="f4")).grid((3,)).sync()
    assert capsys.readouterr().out == (
        "block 0 of 3 [0. 1.]\nsum 1.000|   0|\n"
        "block 1 of 3 [2. 3.]\nsum 5.000|   1|\n"
        "block 2 of 3 [4. 5.]\nsum 9.000|   2|\n"
    )


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (np.float32(0.1), "", "0.1"), (np.float32(0.1), ".2f", "0.10"), (np.int32(-7), "", "-7"),
        (np.int32(7), "03d", "007"), (np.bool_(True), "", "True"),
        (np.array([1, 2], "i4"), "", "[1 2]"), (np.array([1.5, 2], "f4"), ".1f", "[1.5 2.0]"),
        (np.uint64(2**64 - 1), "x", "ffffffffffffffff"),
    ],
)  # fmt: skip
def test_formatting(value, spec, text):
    site = Site("print", None, template=("<", (0, spec), ">"))
    assert printed_text(Printed(site, (0, 0, 0), (value,))) == f"<{text}>"

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import i32
from tilewright.frontend.capture.parameters import Parameter
from tilewright.launch.arguments import OutputArg
from tilewright.launch.grid import launch_grid


@pytest.fixture(autouse=True)
def on_reference():
    with tw.device("reference"):
        yield


@tw.entry
def blocks(z: tl.TensorMut[i32]) -> None:
    n = tl.num_blocks(0) * 100 + tl.num_blocks(1) * 10 + tl.num_blocks(2)
    z.store(tl.broadcast_scalar(n, z.shape))


@tw.entry
def two(a: tl.TensorMut[i32], b: tl.TensorMut[i32]) -> None:
    a.store(tl.zeros(a.shape, i32))
    b.store(tl.zeros(b.shape, i32))


@tw.entry
def nothing(x: tl.Tensor) -> None:
    print(tl.block_id(0), tl.num_blocks(0))


def out(*shape, tile):
    return tw.empty(shape, i32).sync().partition(tile)


@pytest.mark.parametrize(
    ("shape", "tile", "value"), [((4, 6), (2, 2), 231), ((5,), (4,), 211), ((), (), 111)]
)
def test_from_the_partition(shape, tile, value):
    z = blocks(out(*shape, tile=tile)).out().to_numpy().sync()
    assert (z == value).all()


def test_more_axes_than_three():
    z = blocks(out(2, 1, 3, 4, tile=(1, 1, 1, 2))).out().to_numpy().sync()
    assert (z == 213).all()


def test_outputs_that_agree():
    two(out(4, 4, tile=(2, 2)), out(8, 8, tile=(4, 4))).sync()
    two(out(4, tile=2), out(4, 1, 1, 1, tile=(2, 1, 1, 1))).sync()


WRONG = {
    "differ": lambda: two(out(4, 4, tile=(2, 2)), out(4, 4, tile=(2, 4))),
    "given-differs": lambda: blocks(out(4, tile=2)).grid((3, 1, 1)),
    "const-given-differs": lambda: blocks(out(4, tile=2)).const_grid((3, 1, 1)),
    "required": lambda: nothing(np.ones(3, "f4")),
    "negative": lambda: nothing(np.ones(3, "f4")).grid((-1,)),
    "huge": lambda: nothing(np.ones(3, "f4")).grid((1 << 40,)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_grids(name, golden, places):
    with pytest.raises(tw.Error) as caught:
        WRONG[name]().sync()
    golden(places(caught.value), name)


def test_the_same_grid_may_be_given():
    blocks(out(4, tile=2)).grid((2,)).sync()
    artifact_grid = blocks(out(4, tile=2)).const_grid((2, 1, 1)).out().to_numpy().sync()
    assert (artifact_grid == 211).all()


def test_an_empty_grid_runs_nothing_and_succeeds(capsys):
    z = blocks(out(0, 4, tile=(2, 2))).out().sync()
    assert z.to_numpy().shape == (0, 4)
    nothing(np.ones(3, "f4")).grid((0,)).sync()
    assert capsys.readouterr().out == ""


def test_kernels_without_outputs(capsys):
    nothing(np.ones(3, "f4")).grid((2,)).sync()
    assert capsys.readouterr().out == "0 2\n1 2\n"


# --- mapped outputs and prefixes -----------------------------------------------------------------


def arguments(*partitions):
    """Arguments of a launch, as far as a grid depends on them."""
    outputs = [Parameter(f"z{k}", "output") for k in range(len(partitions))]
    return [OutputArg(p, part.tiling, None) for p, part in zip(outputs, partitions, strict=True)]


def cut(*shape, tile):
    return tw.meta(shape).partition_mut(tile)


@pytest.mark.parametrize(
    ("shape", "blocks", "at_once", "grid"),
    [
        ((64, 64), None, 4, (4, 1, 1)),  # as many as run at once
        ((5, 4), None, 100, (6, 1, 1)),  # no more than there are tiles
        ((5, 4), 100, 4, (100, 1, 1)),  # unless somebody says so
        ((64, 64), 3, 4, (3, 1, 1)),
        ((0, 4), None, 4, (0, 1, 1)),
    ],
)
def test_blocks_of_a_mapped_output(shape, blocks, at_once, grid):
    args = arguments(cut(*shape, tile=(2, 2)).map((2, 1), blocks))
    assert launch_grid("k", args, None, at_once) == grid


def test_owned_axes_do_not_count():
    args = arguments(cut(8, 8, tile=(2, 2)).map((tw.OWNED, 1)))
    assert launch_grid("k", args, None, 100) == (4, 1, 1)


def test_others_may_say_how_many_blocks_share_the_tiles():
    mapped = cut(8, 8, tile=(2, 2)).map((1, 1))
    assert launch_grid("k", arguments(mapped), (5, 1, 1), 2) == (5, 1, 1)
    assert launch_grid("k", arguments(mapped, cut(3, tile=(1,))), None, 2) == (3, 1, 1)
    other = cut(9, tile=(1,)).map((1,), 7)
    assert launch_grid("k", arguments(mapped, other), None, 2) == (7, 1, 1)


def test_a_prefix_takes_any_grid_inside_its_tiles():
    args = arguments(cut(8, 8, tile=(2, 4)).prefix())
    for grid in (4, 2, 1), (1, 1, 1), (0, 2, 1), (3, 1, 1):
        assert launch_grid("k", args, grid, 1) == grid
    for grid in (5, 2, 1), (4, 3, 1), (1, 1, 2):
        with pytest.raises(tw.LaunchError, match="exceeds the tiles"):
            launch_grid("k", args, grid, 1)

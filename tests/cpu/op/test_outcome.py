"""Errors of work on the device: where they are raised, and what they say."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl


@tw.entry
def refuse(z: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, z, padding=tl.neg_inf)
    assert tl.reduce_max(tile, 0).item() < 0
    z.store(tile)


ENDINGS = {
    "sync": lambda op: op.sync(),
    "future": lambda op: op.into_future().result(),
}


@pytest.mark.parametrize("end", ENDINGS)
def test_the_chain_of_a_failure_is_named_once(end):
    op = refuse(tw.zeros((4,)).partition((4,)), tw.ones((4,))).out()
    with pytest.raises(tw.LaunchError) as caught:
        ENDINGS[end](op.to_numpy().map(lambda a: a))
    notes = caught.value.__notes__
    assert len(notes) == len(set(notes))
    assert [note.split("`")[1] for note in notes][:2] == ["refuse", "refuse.out"]


def test_a_failure_that_was_started_is_raised_where_its_data_is_read():
    z = tw.zeros((4,)).sync()
    refuse(z.partition_mut((4,)), tw.ones((4,))).start()
    with pytest.raises(tw.LaunchError) as caught:
        tw.value(z).to_numpy().sync()
    notes = caught.value.__notes__
    assert len(notes) == len(set(notes))


@pytest.mark.parametrize("end", ENDINGS)
def test_nothing_follows_a_failure_that_the_host_has_waited_past(end):
    """Also where the data it waited for is not what the failed kernel was to write."""
    x, called = tw.ones((4,)).sync(), []
    launch = refuse(tw.zeros((4,)).partition((4,)), x)
    chain = launch.then(lambda z, x: x.to_host_vec()).map(called.append)
    with pytest.raises(tw.LaunchError):
        ENDINGS[end](chain)
    assert called == []

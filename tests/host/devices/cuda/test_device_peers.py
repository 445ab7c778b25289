"""Peer access: asked for once, given both ways or not at all."""

from __future__ import annotations

import pytest

import tilewright as tw


def test_gpus_open_to_each_other(fake_gpus, fake_cuda):
    first, second = fake_gpus
    assert tw.peer_access(first, second) and tw.peer_access(second, first)
    shared = [entry for entry in fake_cuda.log if entry[0] == "share_pool"]
    assert shared == [("share_pool", 50, 1), ("share_pool", 51, 0)]  # once each
    assert tw.peer_access(first, first)


@pytest.mark.parametrize("apart", [(0, 1), (1, 0)])
def test_gpus_that_are_apart(fake_gpus, fake_cuda, apart):
    fake_cuda.apart.add(apart)
    assert not tw.peer_access(*fake_gpus)
    x = tw.zeros((4,), device=fake_gpus[0]).sync().to(fake_gpus[1])
    assert x.sync().device is fake_gpus[1]  # it is copied all the same


def test_a_driver_that_refuses(fake_gpus, fake_cuda):
    fake_cuda.fail("share_pool", 801)
    with pytest.raises(tw.DriverError, match="share_pool"):
        tw.peer_access(*fake_gpus)
    assert tw.peer_access(*fake_gpus)


def test_devices_of_the_host(fake_gpus):
    cpu, reference = tw.Device.new("cpu"), tw.Device.new("reference")
    assert tw.peer_access(cpu, reference)
    assert not tw.peer_access(cpu, fake_gpus[0])

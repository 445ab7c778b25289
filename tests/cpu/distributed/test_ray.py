"""Tilewright on Ray: tasks, tensors in the object store, actors in one group."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT
from support import processes
from tilewright import f32

pytest.importorskip("ray")
pytestmark = [pytest.mark.full, pytest.mark.cpu_alone, pytest.mark.filterwarnings("ignore")]


@tw.entry
def scaled(out: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    out.store(tl.load_tile_like(x, out) * factor)


def times(x, factor):
    return scaled(tw.empty(x.shape).partition((4,)), x, factor).out().sync()


def dies_once(path):
    if Path(path).exists():
        Path(path).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return times(tw.ones((4,)).sync(), 2.0)


class Member:
    def __init__(self, begin):
        self.begin = begin
        self.size = tw.distributed.default_group().size

    def total(self):
        mine = tw.full((3,), float(self.begin + self.rank)).sync()
        return tw.distributed.all_reduce(mine).sync()

    def device(self):
        return tw.default_device().name, os.getpid(), self.size


class Alone:
    async def both(self, reference):
        op = scaled(tw.empty((4,)).partition((4,)), tw.ones((4,)), 3.0).out()
        found, other = await asyncio.gather(op, reference[0])
        return found.to_numpy() + other.to_numpy()


@pytest.fixture(scope="module")
def engine():
    import tilewright.distributed.ray as engine

    settings = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}", "TILEWRIGHT_CACHE_DIR": "off"}
    with processes.ray_folder() as folder:
        engine.ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False,
                        _temp_dir=folder, runtime_env={"env_vars": settings})  # fmt: skip
        yield engine
        engine.ray.shutdown()


def test_tensors_are_arguments_and_results(engine):
    task = engine.remote(times)
    x = tw.arange(0.0, 6.0).sync()
    found = engine.ray.get([task.remote(x, float(n)) for n in range(4)])
    for n, each in enumerate(found):
        assert isinstance(each, tw.Tensor)
        np.testing.assert_array_equal(each.to_numpy(), n * np.arange(6))
    chained = task.remote(task.remote(tw.Arc(x), 2.0), 3.0)
    np.testing.assert_array_equal(engine.ray.get(chained).to_numpy(), 6 * np.arange(6))


def test_tensors_of_the_object_store_are_read_in_place(engine):
    engine.register()
    reference = engine.ray.put(tw.ones((1 << 20,)).sync())
    one, other = engine.ray.get(reference), engine.ray.get(reference)
    assert int(one.device_pointer()) == int(other.device_pointer())  # the store's own memory
    with pytest.raises(tw.BorrowError, match="read-only"):
        tw.fill(one, 0.0).sync()
    assert float(one.to_numpy().sum()) == 1 << 20


def test_a_task_whose_worker_dies_runs_again(engine, tmp_path):
    mark = tmp_path / "mark"
    mark.touch()
    task = engine.remote(dies_once, max_retries=-1)
    assert engine.ray.get(task.remote(str(mark))).to_numpy().sum() == 8
    assert not mark.exists()


def test_actors_are_one_group(engine):
    members = engine.actors(Member, 2, 10, together=True)
    for total in engine.ray.get([member.total.remote() for member in members]):
        np.testing.assert_array_equal(total.to_numpy(), [21, 21, 21])
    found = engine.ray.get([member.device.remote() for member in members])
    assert [(name, size) for name, _, size in found] == [("cpu", 2)] * 2
    assert len({process for _, process, _ in found}) == 2
    for member in members:
        engine.ray.kill(member)


def test_ops_and_futures_are_awaited_together(engine):
    (alone,) = engine.actors(Alone, 1)
    reference = engine.remote(times).remote(tw.ones((4,)).sync(), 5.0)
    np.testing.assert_array_equal(engine.ray.get(alone.both.remote([reference])), [8] * 4)

    async def here():
        op = scaled(tw.empty((4,)).partition((4,)), tw.ones((4,)), 2.0).out()
        return await asyncio.gather(op, reference)

    ours, theirs = asyncio.run(here())
    assert (ours.to_numpy() + theirs.to_numpy() == 7).all()


def test_no_actors(engine):
    with pytest.raises(tw.ContextError, match="there is no actor"):
        engine.actors(Alone, 0)

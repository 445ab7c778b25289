from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

import tilewright as tw
from support.lending import lent
from tilewright.devices.registry import get_device


@pytest.fixture
def t():
    return tw.from_numpy(np.ones((4, 6), "f4")).sync()


def cells(x):
    """The facts in a picture, by name."""
    return dict(re.findall(r"<tr><th>(.*?)</th><td><code>(.*?)</code></td></tr>", x._repr_html_()))


def test_a_tensor(t):
    assert t._repr_html_().startswith("<table><caption>Tensor</caption>")
    here = tw.default_device().name
    assert cells(t) == {"shape": "(4, 6)", "dtype": "f32", "device": here, "state": "owned"}


def test_states_in_words(t):
    view = t[1:]
    assert cells(view)["state"] == "view"
    array = lent(t)
    assert re.match(
        "owned; (a NumPy view of it is alive|another library uses it .*), /", cells(t)["state"]
    )
    del array
    part = t.borrow_mut()[:2]
    assert re.match(
        "view; ended: it was borrowed for writing, .*test_show.py:", cells(view)["state"]
    )
    assert (cells(part)["state"], cells(part)["borrow"]) == ("part", "usable")
    kept = tw.move(t)
    assert cells(t)["state"].startswith("moved: consumed by tw.move(), ")
    assert (cells(part)["borrow"], repr(part)[-8:]) == ("ended", ", ended)")
    assert cells(tw.meta((2,)))["state"] == "meta"
    assert cells(tw.empty((2,)).sync())["state"] == "uninitialized"
    arc = tw.Arc(kept)
    other = arc.clone()
    assert cells(arc)["state"] == "owned; shared by 2 owners"
    assert len(re.findall("<th>owner</th>", other._repr_html_())) == 2


def test_a_partition(t):
    p = t.partition_mut((2, 4))
    assert (cells(p)["tile"], cells(p)["grid"], cells(p)["partition"]) == (
        "(2, 4)",
        "(2, 2)",
        "usable",
    )
    t.to_numpy()
    assert cells(p)["partition"] == "ended"
    assert repr(p).endswith("grid=(2, 2), ended)")


def test_work_on_its_way(t):
    null = get_device("null")
    with tw.device("null"):
        z, x = tw.zeros((4,)).sync(), tw.zeros((4,)).sync()
        null.hold()
        try:
            future = z.copy_from(x).into_future()
            assert repr(z) == "Tensor(shape=(4,), dtype=f32, device='null', in flight)"
            assert "in flight" in cells(z)["state"]
            assert "in flight" not in repr(x)
        finally:
            null.release()
        future.result()
        assert repr(z) == "Tensor(shape=(4,), dtype=f32, device='null')"


def test_text_is_escaped(t):
    p = t.partition((2, 2))
    code = compile("t.to_numpy()", "<a & b>", "eval")
    with pytest.raises(tw.BorrowError):
        eval(code, {"t": t})
    exec(compile("q = tw.move(p.unpartition())", "<a & b>", "exec"), names := {"tw": tw, "p": p})
    assert "&lt;a &amp; b&gt;" in names["p"].tensor._repr_html_()


@pytest.mark.parametrize("act", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize(
    "make",
    [
        lambda t: t,
        lambda t: t[1:],
        lambda t: t.partition_mut((2, 2)),
        lambda t: t.borrow_mut(),
        tw.Arc,
    ],
)
def test_memory_is_not_copied_by_accident(t, make, act):
    with pytest.raises(TypeError, match=r"to_numpy\(\) gives the values, dup\(\) another tensor"):
        act(make(t))

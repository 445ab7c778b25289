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
            assert "<pre>" not in z._repr_html_()
            assert "in flight" in cells(z)["state"]
            assert "in flight" not in repr(x)
        finally:
            null.release()
        future.result()
        assert z.summary == "Tensor(shape=(4,), dtype=f32, device='null')"
        assert repr(z).endswith("], shape=(4,), dtype=f32, device='null')")


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


def values(text):
    """What a repr shows of the values, as NumPy writes it."""
    return re.fullmatch(r"Tensor\((.*?),\s+shape=.*\)", text, re.DOTALL)[1]


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 4), (2, 1, 3), (0,), (3, 0)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1", "?"])
def test_values_are_shown_as_numpy_does(shape, dtype):
    a = (np.random.default_rng(0).random(shape) * 100).astype(dtype)
    shown = values(repr(tw.from_numpy(a).sync()))
    assert shown == np.array2string(a, separator=", ", prefix="Tensor(")


@pytest.mark.parametrize("shape", [(1001,), (5000,), (7, 1000), (1000, 7), (6, 1000), (9, 9, 9, 9)])
def test_large_tensors_are_summarized_as_numpy_does(shape):
    a = np.random.default_rng(0).random(shape).astype("f4")
    expected = np.array2string(a, separator=", ", prefix="Tensor(")
    assert "..." in expected
    shown = values(repr(tw.from_numpy(a).sync()))
    # NumPy chooses the digits by the elements it shows, of which the corner has a few more.
    count = expected.count(",") + expected.count("...")
    assert shown.count(",") + shown.count("...") == count
    numbers = [np.array(re.findall(r"\d\.\d+", text), "f8") for text in (shown, expected)]
    np.testing.assert_allclose(*numbers, atol=1e-6)


def test_print_options_of_numpy_hold(t):
    with np.printoptions(threshold=5, edgeitems=1, precision=2):
        assert repr(t).count("...") == 3


def test_small_floats_and_views(without_places):
    t = tw.from_numpy(np.arange(8, dtype="f4").reshape(2, 4)).sync()
    for dtype in (tw.bf16, tw.f8e4m3fn, tw.f8e5m2):
        assert values(repr(tw.convert(t, dtype).sync())) == values(repr(t))
    shown = without_places(repr(t[1]))
    assert shown == "Tensor([4., 5., 6., 7.], shape=(4,), dtype=f32, view)"
    assert values(repr(t[:, ::-2])) == "[[3., 1.],\n        [7., 5.]]"
    assert repr(t.transpose()).startswith("Tensor([[0., 4.]")


@pytest.mark.cpu_alone
def test_looking_ends_no_borrow(t):
    p = t.partition_mut((2, 4))
    assert "1., 1." in repr(t) and "1., 1." in t._repr_html_()
    p.check_usable()
    with t.borrow_mut().numpy() as a:
        assert repr(t) == "Tensor(shape=(4, 6), dtype=f32, the host writes it through NumPy)"
        a[:] = 2
    assert "2., 2." in repr(t)


def test_what_cannot_be_seen_is_said(t, without_places):
    def shown(tensor):
        return without_places(repr(tensor))

    view = t[1:]
    tw.fill(t, 3.0).sync()
    assert shown(view) == "Tensor(shape=(3, 6), dtype=f32, view, ended)"
    assert shown(tw.empty((2,)).sync()) == "Tensor(shape=(2,), dtype=f32, uninitialized)"
    moved = tw.move(t)
    assert shown(t) == "Tensor(shape=(4, 6), dtype=f32, moved)"
    assert "3., 3." in repr(moved)


def test_a_drawing_of_tiles(t):
    drawn = t.partition_mut((4, 4))._repr_html_()
    assert drawn.count('fill="none"') == 2 and 'aria-label="1 x 2 tiles"' in drawn
    assert "too many to draw" in tw.zeros((1000,)).sync().partition((1,))._repr_html_()
    assert "<svg" not in tw.zeros((0, 4)).sync().partition((2, 2))._repr_html_()


def test_what_a_capture_will_write_is_not_shown(without_places):
    t = tw.empty((3,)).sync()
    with tw.CudaGraph.scope(tw.default_device().new_stream()) as scope:
        scope.record(tw.fill(t, 2.0))
        shown = without_places(repr(t))
    assert shown == "Tensor(shape=(3,), dtype=f32, written when the graph runs)"
    scope.graph.launch().sync()
    assert values(repr(t)) == "[2., 2., 2.]"

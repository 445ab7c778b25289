"""What operations say of arguments that do not fit: before a kernel is compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import ops

I3 = np.arange(3)


def x(*shape, dtype="f4"):
    return np.ones(shape, dtype)


MISTAKES = [
    (lambda: ops.relu(3.0), TypeError, r"`relu` takes an array .* or a tensor; got float"),
    (lambda: ops.relu(x(3, dtype="i8")), TypeError, "`relu` takes elements of f16, .*; got i64"),
    (lambda: ops.softmax(x(3, 4), "a"), TypeError, "`softmax` takes an axis as an int, got 'a'"),
    (lambda: ops.sum(x(3, 4), 1.0), TypeError, r"`sum` takes an axis as an int, got 1\.0"),
    (lambda: ops.swiglu(x(3), x(4)), ValueError, r"arrays of one shape; got \(3,\) and \(4,\)"),
    (lambda: ops.swiglu(x(3), x(1, 3)), ValueError, r"one shape; got \(3,\) and \(1, 3\)"),
    (lambda: ops.linear(x(2, 3), x(4, 3), x(5)), ValueError,
     r"`bias` of `linear` has the shape \(4,\); got \(5,\)"),
    (lambda: ops.linear(x(2, 3), x(4, 3), residual=x(4, 2)), ValueError,
     r"`residual` of `linear` has the shape \(2, 4\); got \(4, 2\)"),
    (lambda: ops.linear(x(2, 3), x(4, 3, dtype="f8")), TypeError,
     "`weight` has elements of f64, the first one of f32"),
    (lambda: ops.matmul(x(2, 3), x(3, 4, dtype="f2")), TypeError, "`b` has elements of f16"),
    (lambda: ops.layer_norm(x(2, 3), 3, x(2)), ValueError, r"`weight` of `layer_norm` has"),
    (lambda: ops.rms_norm(x(2, 3), 3, residual=x(3)), ValueError, r"`residual` of `rms_norm` has"),
    (lambda: ops.group_norm(x(2, 4), 2, x(2), x(4)), ValueError, r"has the shape \(4,\); got"),
    (lambda: ops.cross_entropy(x(2, 3), x(2)), ValueError, r"`target` of .* shape \(2, 3\); got"),
    (lambda: ops.cross_entropy(x(2, 3), x(2) > 0), TypeError, "`target` of .*; got one of bool"),
    (lambda: ops.cross_entropy(x(2, 3), I3[:2], weight=x(2)), ValueError, "`weight` of `cross_"),
    (lambda: ops.cross_entropy(x(), I3[0]), ValueError, "logits of classes; got an array without"),
    (lambda: ops.cross_entropy(x(2, 3), I3[:2], label_smoothing="a"), TypeError,
     "`label_smoothing` of `cross_entropy` is a number; got 'a'"),
    (lambda: ops.linear(x(2, 3), None), TypeError, "`weight` of `linear` is an array .*; got None"),
    (lambda: ops.linear(x(2, 3), [[1.0]]), TypeError, r"`weight` of `linear` .*; got \[\[1\.0\]\]"),
    (lambda: ops.matmul(x(2, 3), x(3, 2), activation=["gelu"]), ValueError, "has the activations"),
    (lambda: ops.matmul(x(3), x(2, 3, 4)), ValueError, "`matmul` of a row takes one matrix"),
    (lambda: ops.swiglu(x(3), None), TypeError, "`up` of `swiglu` is an array|takes 2 arrays"),
    (lambda: ops.swiglu(x(3), 2.0), TypeError, r"`swiglu` takes 2 arrays; got an array and 2\.0"),
    (lambda: ops.swiglu(x(3), x(3, dtype="f8")), TypeError, "one type; got f32 and f64"),
    (lambda: ops.leaky_relu(x(3), "a"), TypeError, "`negative_slope` of `leaky_relu` is a number"),
    (lambda: ops.rms_norm(x(2, 3), None), TypeError, "`normalized_shape` of .* is an int, or sev"),
    (lambda: ops.rms_norm(x(2, 3), 3, eps="a"), TypeError, "`eps` of `rms_norm` is a number"),
    (lambda: ops.group_norm(x(2, 4), "2"), TypeError, "`num_groups` of `group_norm` is an int"),
    (lambda: ops.relu(np.array([1j])), TypeError, "`relu` takes elements of .*; got complex128"),
    (lambda: ops.sort(np.array([1j])), TypeError, "`sort` takes integers, .*; got complex128"),
    (lambda: ops.sum(np.array([1j])), TypeError, "`sum` takes integers, .*; got complex128"),
    (lambda: ops.relu(np.array(["a"])), TypeError, "`relu` takes elements of .*; got <U1"),
    (lambda: ops.conv2d(x(1, 1, 4, 4), x(1, 1, 2, 2), x(2)), ValueError,
     r"`bias` of `conv2d` has the shape \(1,\); got \(2,\)"),
    (lambda: ops.conv1d(x(1, 2, 4), x(2, 1, 2), x(3), groups=2), ValueError, "`bias` of `conv1d`"),
    (lambda: ops.conv2d(x(1, 1, 4, 4), x(1, 1, 2, 2, dtype="f2")), TypeError, "elements of f16"),
    (lambda: ops.conv2d(x(1, 1, 4, 4), x(1, 1, 2, 2), stride=1.5), TypeError,
     "`stride` of `conv2d`"),
    (lambda: ops.bincount(x(3)), TypeError, "`x` of `bincount` is an array of integers; got"),
    (lambda: ops.histogram(x(3), range=(1,)), TypeError, "`range` of `histogram` is two numbers"),
    (lambda: ops.moe_sort(x(2, 2), 2), TypeError, "`experts` of `moe_sort` is an array of int"),
    (lambda: ops.moe_route(None, 1), TypeError, "`logits` of `moe_route` is an array"),
    (lambda: ops.grouped_matmul(x(3, 4), x(2, 4, 3), x(2)), TypeError, "`sizes` of `grouped_mat"),
    (lambda: ops.decode_attention(x(1, 2, 4), x(1, 4, 2, 4), x(1, 4, 2, 4), x(1)), TypeError,
     "`lengths` of `decode_attention` is an array of integers"),
    (lambda: ops.decode_attention(x(1, 2, 4), x(1, 4, 2, 4), x(1, 4, 2, 4), 9 * I3[1:2]),
     tw.LaunchError, "a sequence has more keys than the cache holds"),
    (lambda: ops.adamw(x(3), x(3), x(3), x(3), 1, betas=(1.5, 0.9)), ValueError, "`betas` of"),
    (lambda: ops.adamw(x(3), x(3), x(3), x(3), "a"), TypeError, "`step` of `adamw` is a number"),
    (lambda: ops.topk(x(3), None), TypeError, "`topk` finds so many elements as `k`, an int"),
    (lambda: ops.argmax(x(2, 3), (0, 1)), TypeError, "`argmax` takes an axis as an int"),
    (lambda: ops.cumsum(x(2, 3), None), TypeError, "`cumsum` takes an axis as an int, got None"),
    (lambda: ops.softmax(x(), 1), IndexError, "no axis 1 in an array of 0 axes; expected -1 to 0"),
    (lambda: ops.patch(3), TypeError, "`patch` takes a model, a torch.nn.Module; got int"),
    (lambda: ops.dropout(x(3), "a", seed=1), ValueError, "`dropout` drops with a probability"),
    (lambda: ops.embedding(x(2), x(3, 4)), TypeError, "`x` of `embedding` is an array of integers"),
    (lambda: ops.scaled_dot_product_attention(x(1, 2, 4), x(1, 2, 4, dtype="f2"), x(1, 2, 4)),
     TypeError, "`key` has elements of f16"),
    (lambda: ops.topk(x(3), 2.0), TypeError, r"`topk` finds so many .* an int, says; got 2\.0"),
    (lambda: ops.topk(x(3), 4), ValueError, "finds 0 to 3 elements along the axis, got 4"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), MISTAKES)
def test_messages(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


TWO_NAMES = [
    ops.softmax, ops.log_softmax, ops.logsumexp, ops.cumsum, ops.sum, ops.mean, ops.var, ops.amax,
    ops.amin, ops.argmax, ops.argmin, ops.sort, ops.argsort, ops.glu,
    lambda a, *axis, **named: ops.topk(a, 1, *axis, **named),
]  # fmt: skip


@pytest.mark.parametrize("op", TWO_NAMES)
def test_an_axis_has_one_name_in_a_call(op):
    array = x(4, 4)
    for args, named in (((0,), {"dim": 1}), ((), {"axis": 0, "dim": 0})):
        with pytest.raises(TypeError, match=r"takes `axis`, or `dim`, .* got both"):
            op(array, *args, **named)
    op(array, 0)
    op(array, dim=0)
    op(array, axis=0, dim=None)


def test_no_axes_are_all_to_pytorch_alone():
    array = np.arange(6.0).reshape(2, 3)
    assert ops.sum(array, dim=()) == 15 and ops.amax(array, dim=()) == 5
    assert np.array_equal(ops.sum(array, axis=()), array)


def test_tensors_of_two_devices_and_layouts():
    torch = pytest.importorskip("torch")
    from tilewright.ops import torch as functional

    a = torch.ones(2, 3)
    with pytest.raises(tw.DeviceError, match="takes tensors of one device"):
        ops.linear(a, torch.empty(4, 3, device="meta"))
    with pytest.raises(TypeError, match=r"`x` of `relu` is an array .*; got Tensor .*sparse"):
        ops.relu(torch.eye(3).to_sparse())
    with pytest.raises(TypeError, match="`input` of `softmax` is an array"):
        functional.softmax(None, 1)
    given = torch.tensor([-1.0, 2.0])
    assert functional.relu(given, inplace=True) is given and given.tolist() == [0, 2]
    expected = torch.nn.functional.softplus(given, 2.0)
    torch.testing.assert_close(functional.softplus(given, 2.0), expected)


@pytest.mark.parametrize(("left", "right"), [((3,), (3,)), ((3,), (3, 2)), ((2, 4, 3), (3,))])
def test_products_of_one_axis(left, right):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(left), rng.standard_normal(right)
    for found in (ops.matmul(a, b), ops.matmul(tw.asarray(a), tw.asarray(b)).sync().to_numpy()):
        np.testing.assert_allclose(found, a @ b)

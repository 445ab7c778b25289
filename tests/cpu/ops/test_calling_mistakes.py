"""What operations say of arguments that do not fit: before a kernel is compiled."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import ops


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
    (lambda: ops.cross_entropy(x(2, 3), x(2)), TypeError, "`target` of .*; got one of f32"),
    (lambda: ops.embedding(x(2), x(3, 4)), TypeError, "`x` of `embedding` is an array of integers"),
    (lambda: ops.scaled_dot_product_attention(x(1, 2, 4), x(1, 2, 4, dtype="f2"), x(1, 2, 4)),
     TypeError, "`key` has elements of f16"),
    (lambda: ops.topk(x(3), 2.0), ValueError, r"finds 0 to 3 elements along the axis, got 2\.0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), MISTAKES)
def test_messages(call, kind, message):
    with pytest.raises(kind, match=message):
        call()

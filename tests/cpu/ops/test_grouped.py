"""Grouped products against products of each group in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from support import tiers
from support.op_checks import TYPES, check, check_gradients, check_gradients_as, numbers, torch
from tilewright import ops

GROUPS = {
    "one row": ((1,), 0, 1, 1),
    "empty groups": ((3, 0, 5), 0, 4, 6),
    "rows behind": ((3, 0, 5), 7, 4, 6),
    "none": ((0, 0), 0, 3, 3),
    "none but behind": ((0, 0), 5, 3, 3),
    "several tiles": ((130, 1, 0, 69), 0, 70, 33),
    "wide": ((200, 5), 3, 33, 130),
    "many": ((1, 2, 0, 3) * 5, 1, 17, 16),
}


def defined(x, w, sizes):
    rows = torch.split(x, [*sizes.tolist(), len(x) - int(sizes.sum())])
    zeros = x.new_zeros(len(rows[-1]), w.shape[2])
    return torch.cat([*[part @ w[g] for g, part in enumerate(rows[:-1])], zeros])


def inputs_of(case):
    sizes, more, depth, columns = GROUPS[case]
    x, w = numbers((sum(sizes) + more, depth), (len(sizes), depth, columns))
    return [x, w], torch.tensor(sizes)


@pytest.mark.parametrize("case", GROUPS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.thinned(2)
def test_results(case, dtype):
    inputs, sizes = inputs_of(case)
    check(ops.grouped_matmul, defined, inputs, dtype, scale=20, fixed=(sizes,))


@pytest.mark.parametrize("case", tiers.count(quick=["several tiles", "many"], full=GROUPS))
def test_gradients(case):
    inputs, sizes = inputs_of(case)
    check_gradients_as(ops.grouped_matmul, defined, inputs, fixed=(sizes,))


def test_gradients_by_differences():
    check_gradients(
        lambda x, w: ops.grouped_matmul(x, w, torch.tensor([2, 0, 1])), numbers((4, 3), (3, 3, 2))
    )


def test_ends_and_strided_weights():
    (x, w), sizes = inputs_of("empty groups")
    turned = w.mT.contiguous().mT
    for ends in (sizes.cumsum(0), sizes.cumsum(0).int()):
        found = ops.grouped_matmul(x, turned, ends=ends)
        torch.testing.assert_close(found, defined(x, w, sizes))


def test_what_is_refused():
    x, w = np.ones((4, 3), "f4"), np.ones((2, 3, 5), "f4")
    with pytest.raises(ValueError, match=r"shapes \(4, 3\), \(2, 3, 5\) and \(3,\)"):
        ops.grouped_matmul(x, w, np.array([1, 2, 1]))
    with pytest.raises(TypeError, match="the sizes of groups, or their ends"):
        ops.grouped_matmul(x, w)
    with pytest.raises(ValueError, match="one number for each group"):
        ops.grouped_matmul(x, w, np.ones((1, 2), "i4"))

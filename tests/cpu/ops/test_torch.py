"""The drop-in for `torch.nn.functional`: signatures, results, and what it refuses."""

from __future__ import annotations

import inspect
import re

import pytest

from support import tiers
from support.op_checks import close, numbers, torch
from tilewright import ops
from tilewright.ops import torch as ours  # after PyTorch: without it, skipped

theirs = torch.nn.functional


BARE = ("sigmoid", "tanh")
"""Of which PyTorch does not say the parameters."""


def parameters_of(function):
    """Names and defaults; of functions in C++ as their docstrings say."""
    try:
        found = inspect.signature(function).parameters.values()
        return [(p.name, _plain(p.default)) for p in found]
    except ValueError:
        text = re.sub(r"\s+", " ", function.__doc__).strip()
        inside = re.match(r"\w+\((.*?)\) -> ", text)[1]
        parts = [part.strip() for part in inside.split(",") if part.strip() not in ("*", "/")]
        pairs = [re.match(r"(\w+)(?:\s*=\s*(.*))?", part).groups() for part in parts]
        return [(name, "no" if value is None else _plain(eval(value))) for name, value in pairs]


def _plain(default):
    return "no" if default is inspect.Parameter.empty else default


@pytest.mark.parametrize("name", [n for n in ours.__all__ if n not in BARE])
def test_signatures(name):
    assert parameters_of(getattr(ours, name)) == parameters_of(getattr(theirs, name))


RENAMED = {"input": "x", "dim": "axis", "linear_weight": "weight", "linear_bias": "bias"}
"""PyTorch's names of parameters, and those of `ops`."""
OWN = {
    "linear_cross_entropy": {"ignore_index", "weight"},
    "log_softmax": {"axis"}, "softmax": {"axis"},
}  # fmt: skip
"""Parameters that have another default, or another meaning, as the page of operations says."""
BY_KEYWORD = {
    "cross_entropy": {"weight"},
    "scaled_dot_product_attention": {"dropout_p", "is_causal", "scale", "enable_gqa"},
}
"""Parameters that PyTorch takes by place, too."""


@pytest.mark.parametrize("name", [n for n in ours.__all__ if n in ops.__all__ and n not in BARE])
def test_signatures_of_operations(name):
    signature = inspect.signature(getattr(ops, name)).parameters
    given = [(RENAMED.get(p, p), default) for p, default in parameters_of(getattr(theirs, name))]
    shared = [(p, default) for p, default in given if p in signature and p not in OWN.get(name, ())]
    assert shared == [(p, _plain(signature[p].default)) for p, _ in shared]
    places = [p for p in signature if signature[p].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    by_place = [p for p, _ in shared if p not in BY_KEYWORD.get(name, ())]
    assert [p for p in by_place if p in places] == [p for p in places if p in by_place]
    assert not BY_KEYWORD.get(name, set()) & set(places)


def calls():
    x, w, b, r = numbers((3, 8), (5, 8), 5, 8)
    q = numbers((2, 2, 6, 4))[0]
    image, kernel = numbers((1, 2, 5, 5), (3, 2, 2, 2))
    labels, groups = torch.tensor([1, 0, 7]), numbers((2, 8, 4))[0]
    return {
        "relu": (x,), "sigmoid": (x,), "tanh": (x,), "silu": (x,), "gelu": (x,),
        "softplus": (40 * x,), "leaky_relu": (x, 0.2), "elu": (x, 0.5), "glu": (x, 1),
        "softmax": (x, 1), "log_softmax": (x, 1), "rms_norm": (x, (8,), r, 1e-5),
        "layer_norm": (x, (8,), r, r), "group_norm": (x, 2, r, r), "linear": (x, w, b),
        "grouped_mm": (x, groups), "scaled_dot_product_attention": (q, q, q, None, 0.0, True),
        "conv1d": (image[:, :, 0], kernel[:, :, 0], None, 1, 1),
        "conv2d": (image, kernel, None, 2),
        "cross_entropy": (x, labels), "embedding": (labels, x.mT.contiguous(), -1),
        "linear_cross_entropy": (x, w, torch.tensor([4, 0, 1])),
    }  # fmt: skip


QUICK = ("softmax", "embedding", "cross_entropy", "grouped_mm", "rms_norm")


def test_results_and_gradients():
    given = calls()
    assert set(given) == set(ours.__all__) - {"dropout"}
    for name in tiers.count(quick=QUICK, full=ours.__all__[:]):
        if name == "dropout":
            continue
        args = given[name]
        found, expected = (_with_gradients(f, name, args) for f in (ours, theirs))
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype, name
            close(a, b, scale=10)


def _with_gradients(module, name, args):
    floats = [x.clone().requires_grad_() if _is_float(x) else x for x in args]
    named = {"approximate": "tanh"} if name == "gelu" else {}
    if name == "grouped_mm":
        named = {"offs": torch.tensor([1, 3], dtype=torch.int32)}
        if module is theirs:  # which wants bf16 for it
            x, w = floats
            y = torch.cat([x[:1] @ w[0], x[1:] @ w[1]])
            return [y, *torch.autograd.grad(y.sum(), (x, w))]
    y = getattr(module, name)(*floats, **named)
    leaves = [x for x in floats if _is_float(x)]
    return [y.detach(), *torch.autograd.grad((y * y).sum() if name != "grouped_mm" else y.sum(),
                                             leaves)]  # fmt: skip


def _is_float(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def test_types_of_results():
    x = torch.randn(3, 8, dtype=torch.bfloat16)
    assert ours.cross_entropy(x, torch.tensor([1, 2, 3])).dtype == torch.bfloat16
    assert ours.softmax(x, -1, dtype=torch.float32).dtype == torch.float32


@pytest.mark.filterwarnings("ignore:Implicit dimension choice")
@pytest.mark.parametrize(
    "shape", tiers.count(quick=[(3, 4), (2, 3, 4)], full=[(3,), (3, 4), (2, 3, 4), (2, 1, 3, 2)])
)
def test_the_axis_that_is_taken_where_none_is_given(shape):
    (x,) = numbers(shape)
    close(ours.softmax(x), theirs.softmax(x))


def test_dropout():
    x = torch.ones(1000)
    torch.manual_seed(3)
    first, second = ours.dropout(x), ours.dropout(x)
    torch.manual_seed(3)
    assert torch.equal(first, ours.dropout(x)) and not torch.equal(first, second)
    assert ours.dropout(x, training=False) is x


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ours.softplus(x, threshold=5), "threshold=5; expected 20 or more"),
        (lambda x: ours.embedding(x.long(), x, max_norm=1.0), "max_norm=1.0; expected None"),
        (lambda x: ours.grouped_mm(x, x), "expected two and three axes, and offs"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(NotImplementedError, match=message):
        call(torch.ones(4, 4))


def test_activations_in_place_and_with_a_slope():
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(1))
    wanted, kept = torch.relu(x), x.clone()
    assert ours.relu(kept, inplace=True) is kept and torch.equal(kept, wanted)
    wanted = torch.nn.functional.softplus(x, beta=2)
    torch.testing.assert_close(ours.softplus(x, beta=2), wanted)


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="no `hardtanh`: call torch"):
        ours.hardtanh  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        ours.nonsense  # noqa: B018

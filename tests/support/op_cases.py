"""Operations with gradients: each, what computes the same in PyTorch, and shapes of inputs."""

from __future__ import annotations

from support.op_checks import torch
from tilewright import ops

F = torch.nn.functional
LABELS = torch.tensor([1, 3, 0])
EXPERTS = torch.tensor([[0, 1], [2, 1], [0, 2]])
WEIGHTS = torch.tensor([1.0, 0.5, 2.0, 0.25], dtype=torch.float64)
CODES = torch.arange(-4, 4, dtype=torch.int8).reshape(2, 4)
FACTORS = torch.tensor([[1.0, 0.0, 2.0, 0.0]] * 2 + [[1.0] * 4], dtype=torch.float64)
"""So that products have factors that are 0."""


def fused(a, b, bias, residual):
    return ops.matmul(a, b, bias=bias, activation="gelu", residual=residual)


def attention(*given, **named):
    return ops.scaled_dot_product_attention(*given, **named)


def attention_of(q, k, v, sinks=None, mask=None, scale=None):
    score = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    score = score if mask is None else score + mask
    if sinks is not None:
        column = sinks[:, None, None].expand(*score.shape[:-1], 1)
        score = torch.cat([score, column], -1)
    return score.softmax(-1)[..., : k.shape[-2]] @ v


def recurrence(x, decay):
    found = [x[..., 0]]
    for i in range(1, x.shape[-1]):
        found.append(x[..., i] + decay[..., i] * found[-1])
    return torch.stack(found, -1)


def experts_of(x, weights, gate_up, down):
    hidden = torch.einsum("td,edw->tew", x, gate_up)
    gate, up = hidden.chunk(2, -1)
    rows = torch.einsum("tew,ewd->ted", F.silu(gate) * up, down)
    shares = torch.zeros(x.shape[0], 3, dtype=x.dtype).scatter_add(1, EXPERTS, weights)
    return torch.einsum("te,ted->td", shares, rows)


CASES = {
    "relu": (ops.relu, F.relu, ((3, 4),)),
    "sigmoid": (ops.sigmoid, torch.sigmoid, ((3, 4),)),
    "tanh": (ops.tanh, torch.tanh, ((3, 4),)),
    "silu": (ops.silu, F.silu, ((3, 4),)),
    "gelu": (ops.gelu, F.gelu, ((3, 4),)),
    "gelu_tanh": (
        lambda x: ops.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh"), ((3, 4),)
    ),
    "softplus": (ops.softplus, F.softplus, ((3, 4),)),
    "leaky_relu": (ops.leaky_relu, F.leaky_relu, ((3, 4),)),
    "elu": (lambda x: ops.elu(x, 1.5), lambda x: F.elu(x, 1.5), ((3, 4),)),
    "swiglu": (ops.swiglu, lambda x, y: F.silu(x) * y, ((3, 4), (3, 4))),
    "geglu": (ops.geglu, lambda x, y: F.gelu(x) * y, ((3, 4), (3, 4))),
    "reglu": (ops.reglu, lambda x, y: F.relu(x) * y, ((3, 4), (3, 4))),
    "glu": (ops.glu, F.glu, ((3, 4),)),
    "softmax": (ops.softmax, lambda x: F.softmax(x, -1), ((3, 4),)),
    "softmax, axis 0": (lambda x: ops.softmax(x, 0), lambda x: F.softmax(x, 0), ((3, 4),)),
    "log_softmax": (ops.log_softmax, lambda x: F.log_softmax(x, -1), ((3, 4),)),
    "logsumexp": (ops.logsumexp, lambda x: torch.logsumexp(x, -1), ((3, 4),)),
    "rms_norm": (
        lambda x, w: ops.rms_norm(x, 4, w), lambda x, w: F.rms_norm(x, (4,), w), ((3, 4), (4,))
    ),
    "layer_norm": (
        lambda x, w, b: ops.layer_norm(x, 4, w, b), lambda x, w, b: F.layer_norm(x, (4,), w, b),
        ((3, 4), (4,), (4,)),
    ),
    "group_norm": (
        lambda x, w, b: ops.group_norm(x, 2, w, b), lambda x, w, b: F.group_norm(x, 2, w, b),
        ((2, 4, 3), (4,), (4,)),
    ),
    "matmul": (ops.matmul, torch.matmul, ((2, 3, 4), (2, 4, 2))),
    "fused": (
        fused, lambda a, b, c, d: F.gelu(a @ b + c) + d, ((3, 4), (4, 2), (2,), (3, 2))
    ),
    "linear": (ops.linear, F.linear, ((3, 4), (2, 4), (2,))),
    "sum": (lambda x: ops.sum(x, 1), lambda x: x.sum(1), ((3, 4),)),
    "sum, axis 0": (lambda x: ops.sum(x, 0), lambda x: x.sum(0), ((3, 4),)),
    "mean": (ops.mean, torch.mean, ((3, 4),)),
    "amax": (lambda x: ops.amax(x, 1), lambda x: x.amax(1), ((3, 4),)),
    "amin, axis 0": (lambda x: ops.amin(x, 0), lambda x: x.amin(0), ((3, 4),)),
    "var": (lambda x: ops.var(x, 1), lambda x: x.var(1), ((3, 4),)),
    "cumsum": (ops.cumsum, lambda x: x.cumsum(-1), ((3, 4),)),
    "cumprod": (
        lambda x: ops.cumprod(x * FACTORS), lambda x: (x * FACTORS).cumprod(-1), ((3, 4),)
    ),
    "prod": (lambda x: ops.prod(x * FACTORS, 1), lambda x: (x * FACTORS).prod(1), ((3, 4),)),
    "prod, axis 0": (lambda x: ops.prod(x, 0), lambda x: x.prod(0), ((3, 4),)),
    "norm": (lambda x: ops.norm(x, 2, 1), lambda x: x.norm(dim=1), ((3, 4),)),
    "cummax": (lambda x: ops.cummax(x)[0], lambda x: x.cummax(-1)[0], ((3, 4),)),
    "sort": (lambda x: ops.sort(x)[0], lambda x: x.sort(-1)[0], ((3, 4),)),
    "topk, axis 0": (lambda x: ops.topk(x, 2, 0)[0], lambda x: x.topk(2, 0)[0], ((3, 4),)),
    "linear_recurrence": (ops.linear_recurrence, recurrence, ((3, 4), (3, 4))),
    "attention": (attention, attention_of, ((2, 3, 4), (2, 5, 4), (2, 5, 2))),
    "attention, causal": (
        lambda q, k, v: attention(q, k, v, is_causal=True, scale=0.3),
        lambda q, k, v: attention_of(q, k, v, mask=torch.ones(3, 3).tril().log(), scale=0.3),
        ((2, 3, 4),) * 3,
    ),
    "attention, window": (
        lambda q, k, v: attention(q, k, v, window=2),
        lambda q, k, v: attention_of(q, k, v, mask=torch.ones(3, 3).tril(1).triu(-1).log()),
        ((2, 3, 4),) * 3,
    ),
    "attention, groups": (
        lambda q, k, v: attention(q, k, v, enable_gqa=True),
        lambda q, k, v: attention_of(q, *(x.repeat_interleave(2, -3) for x in (k, v))),
        ((4, 3, 4), (2, 3, 4), (2, 3, 4)),
    ),
    "attention, sinks and mask": (
        lambda q, k, v, s, m: attention(q, k, v, m, sinks=s), attention_of,
        ((2, 3, 4), (2, 5, 4), (2, 5, 4), (2,), (1, 3, 5)),
    ),
    "conv1d": (
        lambda x, w, b: ops.conv1d(x, w, b, 2), lambda x, w, b: F.conv1d(x, w, b, 2),
        ((2, 2, 7), (3, 2, 3), (3,)),
    ),
    "conv2d": (
        lambda x, w, b: ops.conv2d(x, w, b, 2, 1, 1, 2),
        lambda x, w, b: F.conv2d(x, w, b, 2, 1, 1, 2), ((1, 4, 5, 4), (2, 2, 2, 3), (2,)),
    ),
    "conv2d, channels alone": (
        lambda x, w, b: ops.conv2d(x, w, b, 1, 1, 1, 2),
        lambda x, w, b: F.conv2d(x, w, b, 1, 1, 1, 2), ((1, 2, 4, 3), (2, 1, 3, 3), (2,)),
    ),
    "cross_entropy": (
        lambda x: ops.cross_entropy(x, LABELS, label_smoothing=0.1),
        lambda x: F.cross_entropy(x, LABELS, label_smoothing=0.1), ((3, 4),),
    ),
    "cross_entropy of probabilities": (
        lambda x, t: ops.cross_entropy(x, t, weight=WEIGHTS, label_smoothing=0.1),
        lambda x, t: F.cross_entropy(x, t, weight=WEIGHTS, label_smoothing=0.1), ((3, 4), (3, 4)),
    ),
    "linear_cross_entropy": (
        lambda x, w, b: ops.linear_cross_entropy(x, w, LABELS, bias=b, label_smoothing=0.1),
        lambda x, w, b: F.cross_entropy(x @ w.T + b, LABELS, label_smoothing=0.1),
        ((3, 5), (4, 5), (4,)),
    ),
    "embedding": (
        lambda w: ops.embedding(LABELS, w), lambda w: F.embedding(LABELS, w), ((5, 4),)
    ),
    "bincount": (
        lambda w: ops.bincount(LABELS, w, length=4),
        lambda w: torch.zeros(4, dtype=w.dtype).scatter_add(0, LABELS, w), ((3,),),
    ),
    "grouped_matmul": (
        lambda x, w: ops.grouped_matmul(x, w, torch.tensor([2, 1])),
        lambda x, w: torch.cat([x[:2] @ w[0], x[2:] @ w[1]]), ((3, 4), (2, 4, 2)),
    ),
    "moe_route": (
        lambda x: ops.moe_route(x, 2)[0], lambda x: x.topk(2)[0].softmax(-1), ((3, 4),)
    ),
    "moe_route, shares of all": (
        lambda x: ops.moe_route(x, 2, normalize=False)[0], lambda x: x.softmax(-1).topk(2)[0],
        ((3, 4),),
    ),
    "moe": (
        lambda x, w, g, d: ops.moe(x, w, EXPERTS, g, d), experts_of,
        ((3, 4), (3, 2), (3, 4, 6), (3, 3, 4)),
    ),
    "dequantize": (
        lambda s: ops.dequantize(CODES, s, "float64"), lambda s: CODES * s, ((2, 1),)
    ),
}  # fmt: skip

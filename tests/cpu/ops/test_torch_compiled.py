"""Operations inside of `torch.compile` and `torch.export`: whole graphs, with gradients."""

from __future__ import annotations

import pytest

from support.op_cases import CASES
from support.op_checks import numbers, torch
from tilewright import ops
from tilewright.interop import torch as interop
from tilewright.ops import torch as functional  # after PyTorch: without it, skipped

CLASSES = torch.tensor([1, 0, 3, 7])
PROGRAMS = {
    "gelu": (lambda x: ops.gelu(2 * x) + 1, ((4, 8),)),
    "norm": (lambda x, w, r: ops.rms_norm(x, 8, w, residual=r)[0], ((4, 8), (8,), (4, 8))),
    "linear": (lambda x, w: ops.linear(x, w, activation="gelu"), ((4, 8), (8, 8))),
    "attention": (
        lambda x: ops.scaled_dot_product_attention(x, x, x, is_causal=True), ((2, 4, 8),)
    ),
    "loss": (lambda x: ops.cross_entropy(x, CLASSES), ((4, 8),)),
    "sums": (lambda x: ops.sum(x, 0) + ops.cumsum(x), ((4, 8),)),
    "largest": (lambda x: ops.topk(x, 3)[0], ((4, 8),)),
    "functional": (
        lambda x: functional.softmax(functional.silu(functional.layer_norm(x, (8,))), -1),
        ((4, 8),),
    ),
}  # fmt: skip


def compiled(program, **options):
    torch.compiler.reset()
    return torch.compile(program, fullgraph=True, backend="aot_eager", **options)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.thinned(4)
def test_whole_graphs(name, dynamic):
    program, shapes = PROGRAMS[name]
    run = compiled(program, dynamic=dynamic)
    inputs = [x.float().requires_grad_() for x in numbers(*shapes)]
    found, expected = run(*inputs), program(*inputs)
    torch.testing.assert_close(found, expected)
    for a, b in zip(
        *(torch.autograd.grad(y.sum(), inputs) for y in (found, expected)), strict=True
    ):
        torch.testing.assert_close(a, b)


COUNTS = torch.tensor([1, 3, 0])
OTHERS = {
    "argmax": (lambda x: ops.argmax(x, 1), ((3, 4),)),
    "argmin": (lambda x: ops.argmin(x, 0), ((3, 4),)),
    "argsort": (ops.argsort, ((3, 4),)),
    "any": (lambda x: ops.any(x, 1), ((3, 4),)),
    "all": (lambda x: ops.all(x), ((3, 4),)),
    "bmm": (ops.bmm, ((2, 3, 4), (2, 4, 2))),
    "cummin": (ops.cummin, ((3, 4),)),
    "std": (lambda x: ops.std(x, 1), ((3, 4),)),
    "rope": (ops.rope, ((2, 5, 4), (5, 2), (5, 2))),
    "dropout": (lambda x, r: ops.dropout(x, 0.4, seed=3, residual=r), ((3, 4), (3, 4))),
    "counts": (lambda x: ops.bincount(COUNTS, length=4) + x, ((4,),)),
    "sums in order": (
        lambda w: ops.bincount(COUNTS, w, length=4, deterministic=True), ((3,),)
    ),
    "histogram": (lambda x: ops.histogram(x, 5, range=(-1, 1)), ((30,),)),
    "decode_attention": (
        lambda q, c: ops.decode_attention(q, c, c, torch.tensor([2])), ((1, 2, 4), (1, 3, 2, 4))
    ),
    "mla_decode": (
        lambda q, r, k, s: ops.mla_decode(q, r, k, s, scale=0.5),
        ((1, 2, 4), (1, 2, 3), (1, 5, 4), (1, 5, 3)),
    ),
    "quantize": (ops.quantize, ((2, 4),)),
    "quantized_linear": (
        lambda x, w: ops.quantized_linear(x, *ops.quantize(w)), ((3, 4), (2, 4))
    ),
    "moe_sort": (lambda x: ops.moe_sort(ops.argsort(x), 3), ((4, 3),)),
    "moe_dispatch": (
        lambda x: ops.moe_dispatch(x, *ops.moe_sort(COUNTS[:, None], 4)[:2]), ((3, 4),)
    ),
    "moe_combine": (
        lambda x, w: ops.moe_combine(x, w, *ops.moe_sort(COUNTS[:, None], 4)[:2]),
        ((3, 4), (3, 1)),
    ),
    "adamw": (lambda p, g, m: ops.adamw(p.clone(), g, m.clone(), (m * m), 1), ((3,),) * 3),
    "sgd": (lambda p, g, m: ops.sgd(p.clone(), g, m.clone(), momentum=0.9), ((3,),) * 3),
}  # fmt: skip
"""Operations that are not among the cases; some have no gradients."""


def test_every_operation_is_compiled_here():
    names = {name.partition(",")[0].partition(" ")[0] for name in (*CASES, *OTHERS)}
    called = {"scaled_dot_product_attention": "attention", "bincount": "counts"}
    missing = {name for name in ops.__all__ if called.get(name, name) not in names}
    assert missing == {"patch", "unpatch"}


def listed(found):
    return list(found) if isinstance(found, tuple | list) else [found]


def weighted(results):
    floats = [y for y in results if y.is_floating_point()]
    return sum((y * torch.arange(1, y.numel() + 1).reshape(y.shape)).sum() for y in floats)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")
@pytest.mark.parametrize("name", [*CASES, *OTHERS])
@pytest.mark.thinned(6)
def test_every_operation(name):
    program, shapes = (CASES[name][0], CASES[name][2]) if name in CASES else OTHERS[name]
    given = numbers(*shapes)
    inputs = [x.clone().requires_grad_(name in CASES) for x in given]
    found, expected = listed(compiled(program)(*inputs)), listed(program(*inputs))
    torch.testing.assert_close(found, expected)
    if name in CASES:
        grads = [torch.autograd.grad(weighted(y), inputs) for y in (found, expected)]
        torch.testing.assert_close(*grads)
    exported = torch.export.export(_Module(program), tuple(given))
    torch.testing.assert_close(listed(exported.module()(*given)), [y.detach() for y in expected])


class _Module(torch.nn.Module):
    def __init__(self, program):
        super().__init__()
        self.program = program

    def forward(self, *given):
        return self.program(*given)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*CASES, *OTHERS])
def test_operators_are_what_they_say(name, monkeypatch):
    program, shapes = (CASES[name][0], CASES[name][2]) if name in CASES else OTHERS[name]
    calls = {}
    run = interop.TorchOp._run

    def noted(op, *args):
        calls[op.definition._qualname] = op.definition, [_copied(arg) for arg in args]
        return run(op, *args)

    monkeypatch.setattr(interop.TorchOp, "_run", noted)
    inputs = [x.requires_grad_(name in CASES) for x in numbers(*shapes)]
    program(*inputs)
    for definition, args in calls.values():
        torch.library.opcheck(definition, args)


def _copied(arg):
    return arg.detach().clone() if isinstance(arg, torch.Tensor) else arg

"""A drop-in for `torch.nn.functional`: `import tilewright.ops.torch as F`.

Functions have the names, arguments and defaults of PyTorch's. What is not supported raises, and
names the argument; nothing runs in PyTorch instead.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn

from ..functions.tracing import tell_torch
from .activations import elu as elu_of
from .activations import gelu as gelu_of
from .activations import glu as glu_of
from .activations import leaky_relu as leaky_relu_of
from .activations import relu as relu_of
from .activations import sigmoid as sigmoid_of
from .activations import silu as silu_of
from .activations import softplus as softplus_of
from .activations import tanh as tanh_of
from .arguments import explained
from .attention import scaled_dot_product_attention as scaled_dot_product_attention_of
from .convolution import conv1d as conv1d_of
from .convolution import conv2d as conv2d_of
from .divergences import kl_div as kl_div_of
from .embedding import dropout as dropout_of
from .embedding import embedding as embedding_of
from .grouped import grouped_matmul as grouped_matmul_of
from .linear_losses import linear_cross_entropy as linear_cross_entropy_of
from .losses import cross_entropy as cross_entropy_of
from .matmul import linear as linear_of
from .norms import group_norm as group_norm_of
from .norms import layer_norm as layer_norm_of
from .norms import rms_norm as rms_norm_of
from .softmax import log_softmax as log_softmax_of
from .softmax import softmax as softmax_of

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""
tell_torch()


def _refuse(name: str, option: str, value: object, expected: str) -> NoReturn:
    raise NotImplementedError(
        f"`{name}` of tilewright.ops.torch does not support {option}={value!r:.60}; expected"
        f" {expected}, or call torch.nn.functional.{name}"
    )


def _only(name: str, **given: tuple[Any, Any]) -> None:
    """Raise if an option has another value than the one that is supported."""
    for option, (value, supported) in given.items():
        if value is not supported and value != supported:
            _refuse(name, option, value, f"{supported!r}")


def _dim(dim: int | None, rank: int) -> int:
    """Return the axis that PyTorch takes where none is given."""
    return (0 if rank in (0, 1, 3) else 1) if dim is None else dim


# --- activations -------------------------------------------------------------------------------


def _into(input: Any, found: Any, inplace: bool) -> Any:  # noqa: A002
    """Return a result; `inplace`, in the memory of the input."""
    return input.copy_(found) if inplace else found


@explained
def relu(input: Any, inplace: bool = False) -> Any:  # noqa: A002
    """Compute max(x, 0)."""
    return _into(input, relu_of(input), inplace)


@explained
def sigmoid(input: Any) -> Any:  # noqa: A002
    """Compute 1 / (1 + exp(-x))."""
    return sigmoid_of(input)


@explained
def tanh(input: Any) -> Any:  # noqa: A002
    """Compute the hyperbolic tangent."""
    return tanh_of(input)


@explained
def silu(input: Any, inplace: bool = False) -> Any:  # noqa: A002
    """Compute x / (1 + exp(-x))."""
    return _into(input, silu_of(input), inplace)


@explained
def gelu(input: Any, *, approximate: str = "none") -> Any:  # noqa: A002
    """Compute x times the normal distribution up to x, or its approximation by `tanh`."""
    how: Any = approximate
    return gelu_of(input, how)


@explained
def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Any:  # noqa: A002
    """Compute log(1 + exp(beta * x)) / beta, of which x is the rounded value from the threshold."""
    if threshold < 20:
        _refuse("softplus", "threshold", threshold, "20 or more")
    found: Any = softplus_of(input if beta == 1 else input * beta)
    return found if beta == 1 else found / beta


@explained
def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:  # noqa: A002
    """Compute x where it is positive, else negative_slope * x."""
    return _into(input, leaky_relu_of(input, negative_slope), inplace)


@explained
def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:  # noqa: A002
    """Compute x where it is positive, else alpha * (exp(x) - 1)."""
    return _into(input, elu_of(input, alpha), inplace)


@explained
def glu(input: Any, dim: int = -1) -> Any:  # noqa: A002
    """Compute a * sigmoid(b) of the halves of an axis."""
    return glu_of(input, dim)


# --- softmax and norms -------------------------------------------------------------------------


def _softmax(function: Any, x: Any, dim: int | None, dtype: Any) -> Any:
    given = x if dtype is None else x.to(dtype)
    return function(given, _dim(dim, len(x.shape)))


@explained
def softmax(
    input: Any,  # noqa: A002
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: Any = None,
) -> Any:
    """Compute exp(x) / sum(exp(x)) along an axis."""
    return _softmax(softmax_of, input, dim, dtype)


@explained
def log_softmax(
    input: Any,  # noqa: A002
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: Any = None,
) -> Any:
    """Compute x - log(sum(exp(x))) along an axis."""
    return _softmax(log_softmax_of, input, dim, dtype)


@explained
def rms_norm(
    input: Any,  # noqa: A002
    normalized_shape: Any,
    weight: Any = None,
    eps: float | None = None,
) -> Any:
    """Compute x / sqrt(mean(x**2) + eps) * weight."""
    return rms_norm_of(input, normalized_shape, weight, eps)


@explained
def layer_norm(
    input: Any,  # noqa: A002
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
) -> Any:
    """Compute (x - mean(x)) / sqrt(var(x) + eps) * weight + bias."""
    return layer_norm_of(input, normalized_shape, weight, bias, eps)


@explained
def group_norm(
    input: Any,  # noqa: A002
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
) -> Any:
    """Normalize groups of channels, axis 1."""
    return group_norm_of(input, num_groups, weight, bias, eps)


# --- products ----------------------------------------------------------------------------------


@explained
def linear(input: Any, weight: Any, bias: Any = None) -> Any:  # noqa: A002
    """Compute x @ weight.T + bias."""
    return linear_of(input, weight, bias)


@explained
def grouped_mm(
    mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    """Compute the products of groups of rows, which end at `offs`, with a matrix each."""
    _only("grouped_mm", bias=(bias, None))
    if mat_a.dim() != 2 or mat_b.dim() != 3 or offs is None:
        shapes = f"{tuple(mat_a.shape)} and {tuple(mat_b.shape)}"
        _refuse("grouped_mm", "mat_a, mat_b", shapes, "two and three axes, and offs")
    found = grouped_matmul_of(mat_a, mat_b, ends=offs)
    return found if out_dtype is None else found.to(out_dtype)


@explained
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Compute softmax(query @ key.T * scale) @ value for each head."""
    seed = _drawn_seed(query) if dropout_p else None
    flat = query.dim() == 2
    q, k, v = [x[None] for x in (query, key, value)] if flat else (query, key, value)
    found: Any = scaled_dot_product_attention_of(
        q, k, v, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa,
        dropout_p=dropout_p, seed=seed,
    )  # fmt: skip
    return found[0] if flat else found


@explained
def conv1d(
    input: Any,  # noqa: A002
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Convolve along one axis."""
    return conv1d_of(input, weight, bias, stride, padding, dilation, groups)


@explained
def conv2d(
    input: Any,  # noqa: A002
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Convolve along two axes."""
    return conv2d_of(input, weight, bias, stride, padding, dilation, groups)


# --- losses, embedding, dropout ----------------------------------------------------------------


@explained
def cross_entropy(
    input: Any,  # noqa: A002
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Compute log(sum(exp(x))) - x[target] for each row of logits, or of probabilities."""
    how: Any = _reduction(size_average, reduce, reduction)
    found = cross_entropy_of(input, target, ignore_index, how, label_smoothing, weight=weight)
    return found if torch.is_autocast_enabled(input.device.type) else found.to(input.dtype)


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Return the reduction that the older arguments of PyTorch's losses ask for, if given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


@explained
def kl_div(
    input: Any,  # noqa: A002
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """Compute target * (log(target) - x); with `log_target`, of the logarithms of targets."""
    how: Any = _reduction(size_average, reduce, reduction)
    found: Any = kl_div_of(input, target, how, log_target=log_target)
    return found


@explained
def linear_cross_entropy(
    input: Any,  # noqa: A002
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """Compute cross_entropy(x @ linear_weight.T, target) without storing the logits."""
    _only(
        "linear_cross_entropy",
        weight=(weight, None), options=(options, None),
    )  # fmt: skip
    how: Any = reduction
    ignored = -100 if ignore_index is None else ignore_index
    found = linear_cross_entropy_of(
        input, linear_weight, target, ignored, how, label_smoothing, bias=linear_bias
    )
    return found.to(input.dtype)


@explained
def embedding(
    input: Any,  # noqa: A002
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Return weight[x]; row `padding_idx` gets no gradient."""
    _only(
        "embedding",
        max_norm=(max_norm, None), scale_grad_by_freq=(scale_grad_by_freq, False),
        sparse=(sparse, False),
    )  # fmt: skip
    return embedding_of(input, weight, padding_idx)


@explained
def dropout(
    input: Any,  # noqa: A002
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
) -> Any:
    """Set elements to 0 with probability p; PyTorch's generator draws the seed."""
    if not training:
        return input
    return _into(input, dropout_of(input, p, seed=_drawn_seed(input)), inplace)


def _drawn_seed(like: Any) -> Any:
    """Return a seed that PyTorch's generator draws, where a tensor is."""
    return torch.randint(2**63 - 1, (1,), device=like.device)


__all__ = [
    "conv1d", "conv2d", "cross_entropy", "dropout", "elu", "embedding", "gelu", "glu", "group_norm",
    "grouped_mm", "kl_div", "layer_norm", "leaky_relu", "linear", "linear_cross_entropy",
    "log_softmax", "relu", "rms_norm", "scaled_dot_product_attention", "sigmoid", "silu", "softmax",
    "softplus", "tanh",
]  # fmt: skip


def __getattr__(name: str) -> NoReturn:
    if not name.startswith("_") and hasattr(torch.nn.functional, name):
        raise AttributeError(
            f"tilewright.ops.torch has no `{name}`: call torch.nn.functional.{name}. It has"
            f" {', '.join(__all__)}"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

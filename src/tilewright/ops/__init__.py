"""Ready operations on arrays of any library, with gradients: `from tilewright import ops`.

Names and arguments are those of `torch.nn.functional` where it has them; `axis` is also called
`dim`. An operation takes NumPy, PyTorch, JAX or CuPy arrays, or those of another library with
DLPack, and returns the same kind; of our tensors, and ops that give some, it makes an op.
"""

from __future__ import annotations

from ..base.tracebacks import publish
from ..functions.tracing import tell_torch
from .activations import (
    elu,
    geglu,
    gelu,
    glu,
    leaky_relu,
    reglu,
    relu,
    sigmoid,
    silu,
    softplus,
    swiglu,
    tanh,
)
from .attention import scaled_dot_product_attention
from .convolution import conv1d, conv2d
from .counting import bincount, histogram
from .decoding import decode_attention, mla_decode
from .embedding import dropout, embedding
from .experts import moe, moe_combine, moe_dispatch, moe_route, moe_sort
from .grouped import grouped_matmul
from .linear_losses import linear_cross_entropy
from .losses import cross_entropy
from .matmul import bmm, linear, matmul
from .norms import group_norm, layer_norm, rms_norm
from .optimizers import adamw, sgd
from .ordering import argsort, sort, topk
from .patching import patch, unpatch
from .positions import rope
from .quantization import dequantize, quantize, quantized_linear
from .recurrences import linear_recurrence
from .reductions import all as all  # noqa: A004 - the name it has everywhere
from .reductions import amax, amin, argmax, argmin, mean, prod
from .reductions import any as any  # noqa: A004
from .reductions import sum as sum  # noqa: A004
from .scans import cummax, cummin, cumprod, cumsum
from .softmax import log_softmax, logsumexp, softmax
from .variance import norm, std, var

__all__ = [
    "adamw", "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "bincount", "bmm",
    "conv1d", "conv2d", "cross_entropy", "cummax", "cummin", "cumprod", "cumsum",
    "decode_attention", "dequantize", "dropout", "elu", "embedding", "geglu", "gelu", "glu",
    "group_norm", "grouped_matmul", "histogram", "layer_norm", "leaky_relu", "linear",
    "linear_cross_entropy", "linear_recurrence", "log_softmax", "logsumexp", "matmul", "mean",
    "mla_decode", "moe", "moe_combine", "moe_dispatch", "moe_route", "moe_sort", "norm", "patch",
    "prod", "quantize", "quantized_linear", "reglu", "relu", "rms_norm", "rope",
    "scaled_dot_product_attention", "sgd", "sigmoid", "silu", "softmax", "softplus", "sort", "std",
    "sum", "swiglu", "tanh", "topk", "unpatch", "var",
]  # fmt: skip

publish(__all__, globals())
tell_torch()

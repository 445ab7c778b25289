"""Steps of optimizers."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _adamw(p_out, m_out, v_out, p, m, v, g, rate, decay, first, second, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    grad = tl.load(g + at, inside).to(tl.float32)
    weight = tl.load(p + at, inside).to(tl.float32) * (1 - rate * decay)
    mean = 0.9 * tl.load(m + at, inside) + 0.1 * grad
    square = 0.999 * tl.load(v + at, inside) + 0.001 * grad * grad
    tl.store(m_out + at, mean, inside)
    tl.store(v_out + at, square, inside)
    result = weight - rate * (mean / first) / (tl.sqrt(square / second) + 1e-8)
    tl.store(p_out + at, result.to(p_out.dtype.element_ty), inside)


def adamw(p_out, m_out, v_out, p, m, v, g, rate, decay, step, *, BLOCK, num_warps):
    n = p.numel()
    corrections = 1 - 0.9**step, 1 - 0.999**step
    _adamw[(triton.cdiv(n, BLOCK),)](
        p_out, m_out, v_out, p, m, v, g, rate, decay, *corrections, n, BLOCK, num_warps=num_warps
    )


@triton.jit
def _momentum(p_out, b_out, p, b, g, rate, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    grad = tl.load(g + at, inside).to(tl.float32)
    kept = 0.9 * tl.load(b + at, inside) + grad
    tl.store(b_out + at, kept, inside)
    result = tl.load(p + at, inside).to(tl.float32) - rate * (grad + 0.9 * kept)
    tl.store(p_out + at, result.to(p_out.dtype.element_ty), inside)


def nesterov(p_out, b_out, p, b, g, rate, *, BLOCK, num_warps):
    n = p.numel()
    grid = (triton.cdiv(n, BLOCK),)
    _momentum[grid](p_out, b_out, p, b, g, rate, n, BLOCK, num_warps=num_warps)

"""Host programs over the types of the real torch and JAX."""

from __future__ import annotations

from typing import Any, assert_type

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import torch

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


def untyped(y: Any, w: npt.NDArray[np.float32]) -> None:
    out = add(tw.empty((4, 4)).partition((4, 4)), y, w).out().sync()
    assert_type(out, tw.Tensor[f32])
    out.to_numpy()


def of_torch(x: torch.Tensor, p: torch.nn.Parameter) -> None:
    z = torch.empty(x.shape)
    assert_type(tw.asarray(z), tw.Tensor[Any])
    add(tw.asarray(z).partition_mut((4, 4)), x, p).sync()
    add(tw.asarray(z).partition_mut((4, 4)), x=x, y=p).sync()
    tw.from_numpy(x.numpy()).sync()
    tw.empty_like(x).sync()


def of_jax(x: jax.Array) -> None:
    out = add(tw.empty((4, 4)).partition((4, 4)), x, jnp.ones((4, 4))).out().sync()
    assert_type(out, tw.Tensor[f32])
    tw.asarray(x)
    tw.empty_like(x).sync()
    jnp.asarray(tw.ones((3,)).sync())
    jnp.from_dlpack(tw.ones((3,)).sync())


def by_keyword(w: npt.NDArray[np.float32]) -> None:
    z = tw.zeros(w.shape).sync()
    add(z.partition_mut((4, 4)), x=w, y=w).sync()
    add(z=z.partition_mut((4, 4)), x=w, y=w).sync()
    add(z.partition_mut((4, 4)), w, y=w).sync()


def wrong(x: torch.Tensor, j: jax.Array, w: npt.NDArray[np.float32]) -> None:
    z = tw.zeros(w.shape).sync()
    add(z, w, w)  # error: a plain tensor
    add(x, x, x)  # error: a tensor of torch
    add(j, j, j)  # error: an array of JAX
    add(z.partition_mut((4, 4)), w).sync()  # error: too few
    add(z, x=w, y=w)  # error: a plain tensor

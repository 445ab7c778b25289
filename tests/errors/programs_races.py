"""Ways to have two blocks write one tile, as when heads are permuted: none of them can be said."""

KERNEL = """
@tw.entry
def permute_heads(out: tl.TensorMut[f32], x: tl.Tensor[f32], order: tl.Tensor[i32]) -> None:
    b, h, m = tl.block_id(0), tl.block_id(1), tl.block_id(2)
    target = order.load_tile((1,), [h]).item()
    tile = x.load_tile((1, 1, 4, 4), [b, h, m, 0])
    {store}

x = tw.ones((1, 4, 8, 4)).sync()
out = tw.zeros((1, 4, 8, 4)).sync()
permute_heads(out.partition_mut((1, 1, 4, 4)), x, np.array([2, 0, 3, 1], np.int32)).sync()
"""

STORES = {
    "race-store-at-an-index": "out.store(tile, [b, m, target, 0])",
    "race-store-through-an-input": "x.store(tile)",
    "race-permuted-output": "out.partition_permuted((1, 1, 4, 4), (0, 2, 1, 3)).store(tile)",
    "race-part-of-another-block": "out.partition_mut((1, 1, 4, 4)).store(tile, [b, m, target, 0])",
    "race-unchecked-store": "out.partition_mut((1, 1, 4, 4)).store_unchecked(tile, [0, m, 0, 0])",
    "race-index-of-a-mapped-output": "out.store(tile, out.index(b, m, target, 0))",
}

PROGRAMS = {name: KERNEL.format(store=store) for name, store in STORES.items()}

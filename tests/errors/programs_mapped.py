"""Wrong uses of mapped partitions: on the host, at a launch, and in kernels."""

COPY = """
@tw.entry
def kernel(z: tl.MappedPartitionMut) -> None:
    for index in z.iter_indices():
        z.store(z.load(index), index)
"""
TWO = """
@tw.entry
def kernel(z: tl.MappedPartitionMut, w: tl.MappedPartitionMut) -> None:
    for index in z.iter_indices():
        z.store(w.load(index), index)
z, w = tw.zeros((8,)).sync(), tw.zeros((8,)).sync()
"""


def kernel(*body: str, groups: str = "(1,)", more: str = "") -> str:
    """A kernel on one mapped output, and its launch."""
    rank = groups.count(",") + (not groups.endswith(",)"))
    shape, tile = ", ".join(["8"] * rank), ", ".join(["4"] * rank)
    lines = "\n    ".join(body)
    return f"""
@tw.entry
def kernel(z: tl.MappedPartitionMut{more}) -> None:
    {lines}
z = tw.zeros(({shape},)).sync()
kernel(z.partition_mut(({tile},)).map({groups})).sync()
"""


HOST = {
    "map-of-wrong-rank": """
z = tw.zeros((4, 4)).sync()
z.partition_mut((2, 2)).map((8,))
""",
    "map-with-all-axes-owned": """
z = tw.zeros((4, 4)).sync()
z.partition_mut((2, 2)).map((tw.OWNED, tw.OWNED))
""",
    "map-with-a-negative-group": """
z = tw.zeros((4, 4)).sync()
z.partition_mut((2, 2)).map((-1, 1))
""",
    "map-with-no-blocks": """
z = tw.zeros((4, 4)).sync()
z.partition_mut((2, 2)).map((1, 1), 0)
""",
    "map-of-a-prefix": """
z = tw.zeros((4, 4)).sync()
z.partition_mut((2, 2)).prefix().map((1, 1))
""",
    "prefix-of-a-map": """
z = tw.zeros((4, 4)).sync()
z.partition_mut((2, 2)).map((1, 1), 3).prefix()
""",
}

LAUNCH = {
    "mapped-partition-for-plain-output": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load())
z = tw.zeros((4,)).sync()
kernel(z.partition_mut((4,)).map((1,), 2)).sync()
""",
    "plain-partition-for-mapped-output": COPY
    + """
z = tw.zeros((4,)).sync()
kernel(z.partition_mut((4,))).sync()
""",
    "mapped-outputs-with-different-blocks": TWO
    + """
kernel(z.partition_mut((4,)).map((1,), 2), w.partition_mut((4,)).map((1,), 3)).sync()
""",
    "mapped-output-on-a-grid-of-two-axes": COPY
    + """
z = tw.zeros((4,)).sync()
kernel(z.partition_mut((4,)).map((1,))).grid((2, 2)).sync()
""",
    "mapped-output-on-an-empty-grid": COPY
    + """
z = tw.zeros((4,)).sync()
kernel(z.partition_mut((4,)).map((1,))).grid((0,)).sync()
""",
    "mapped-output-with-too-many-tiles": COPY
    + """
z = tw.zeros((4, 4)).sync()
kernel(z.partition_mut((1, 1)).map((1 << 30, 1), 2)).sync()
""",
    "prefix-without-a-grid": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load())
z = tw.zeros((8,)).sync()
kernel(z.partition_mut((4,)).prefix()).sync()
""",
    "prefix-beyond-the-tiles": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(z.load())
z = tw.zeros((8, 8)).sync()
kernel(z.partition_mut((4, 4)).prefix()).grid((1, 3)).sync()
""",
    "outputs-visited-together-differ": """
@tw.entry
def kernel(z: tl.MappedPartitionMut, w: tl.MappedPartitionMut) -> None:
    for index in z.iter_indices_with(w):
        z.store(w.load(index), index)
z, w = tw.zeros((8,)).sync(), tw.zeros((9,)).sync()
kernel(z.partition_mut((4,)).map((1,)), w.partition_mut((4,)).map((1,))).sync()
""",
    "span-outside-of-the-tiles": """
@tw.entry
def kernel(z: tl.MappedPartitionMut, first: int) -> None:
    for index in z.iter_indices_within(((first, 1),)):
        z.store(z.load(index), index)
z = tw.zeros((8,)).sync()
kernel(z.partition_mut((4,)).map((1,)), 2).sync()
""",
    "owned-axis-out-of-range": """
@tw.entry
def kernel(z: tl.MappedPartitionMut, i: int) -> None:
    for index in z.iter_indices():
        z.store(z.load(index.at(0)), index.at(i))
z = tw.zeros((8, 8)).sync()
kernel(z.partition_mut((4, 4)).map((tw.OWNED, 1), 1), 2).sync()
""",
}

KERNELS = {
    "mapped-forged-index": kernel("z.store(tl.zeros(z.shape, f32), (0,))"),
    "mapped-store-without-index": kernel("z.store(tl.zeros(z.shape, f32))"),
    "mapped-index-rebuilt": kernel(
        "for m, n in z.iter_indices():",
        "    z.store(tl.zeros(z.shape, f32), (m, n))",
        groups="(1, 1)",
    ),
    "mapped-index-moved": kernel(
        "for index in z.iter_indices():",
        "    z.store(tl.zeros(z.shape, f32), (index[0] + 1,))",
    ),
    "mapped-stale-index": kernel(
        "for index in z.iter_indices():",
        "    tile = z.load(index)",
        "z.store(tl.zeros(z.shape, f32), index)",
    ),
    "mapped-index-carried-out-of-its-loop": kernel(
        "for last in z.iter_indices():",
        "    kept = last",
        "    for index in z.iter_indices():",
        "        kept = index",
        "    z.store(tl.zeros(z.shape, f32), kept)",
    ),
    "mapped-foreign-index": TWO
    + """
kernel(z.partition_mut((4,)).map((1,), 2), w.partition_mut((4,)).map((1,), 2)).sync()
""",
    "mapped-index-made-by-hand": kernel("z.store(tl.zeros(z.shape, f32), z.index(0))"),
    "mapped-owned-axis-without-number": kernel(
        "for index in z.iter_indices():",
        "    z.store(tl.zeros(z.shape, f32), index)",
        groups="(1, tw.OWNED)",
    ),
    "mapped-number-for-no-owned-axis": kernel(
        "for index in z.iter_indices():",
        "    z.store(tl.zeros(z.shape, f32), index.at(0))",
    ),
    "mapped-with-a-plain-output": """
@tw.entry
def kernel(z: tl.MappedPartitionMut, w: tl.TensorMut) -> None:
    for index in z.iter_indices_with(w):
        z.store(z.load(index), index)
z, w = tw.zeros((8,)).sync(), tw.zeros((8,)).sync()
kernel(z.partition_mut((4,)).map((1,), 2), w.partition_mut((4,))).sync()
""",
    "mapped-with-another-order": """
@tw.entry
def kernel(z: tl.MappedPartitionMut, w: tl.MappedPartitionMut) -> None:
    for index in z.iter_indices_with(w):
        z.store(z.load(index), index)
z, w = tw.zeros((8,)).sync(), tw.zeros((8,)).sync()
kernel(z.partition_mut((4,)).map((1,), 2), w.partition_mut((4,)).map((2,), 2)).sync()
""",
    "mapped-spans-of-wrong-rank": kernel(
        "for index in z.iter_indices_within((0, 1)):", "    z.store(z.load(index), index)"
    ),
    "mapped-negative-span": kernel(
        "for index in z.iter_indices_within(((-1, 1),)):", "    z.store(z.load(index), index)"
    ),
    "mapped-span-of-one-block": kernel(
        "for index in z.iter_indices_within(((tl.block_id(0), 1),)):",
        "    z.store(z.load(index), index)",
    ),
    "mapped-span-of-a-round": kernel(
        "for i in range(z.num_tiles(0)):",
        "    for index in z.iter_indices_within(((i, 1),)):",
        "        z.store(z.load(index), index)",
    ),
    "mapped-span-with-owned-axes": kernel(
        "for index in z.iter_indices_within(((0, 1), (0, 1))):",
        "    z.store(z.load(index.at(0)), index.at(0))",
        groups="(1, tw.OWNED)",
    ),
    "mapped-loops-that-meet": kernel(
        "for index in z.iter_indices():",
        "    z.store(tl.zeros(z.shape, f32), index)",
        "for index in z.iter_indices_within(((1, -1),)):",
        "    z.store(tl.zeros(z.shape, f32), index)",
    ),
    "mapped-output-has-no-region": kernel(
        "z.store(tl.load_tile_like(x, z))", more=", x: tl.Tensor"
    ).replace(".map((1,))", ".map((1,)), np.ones(8, 'f4')"),
    "plain-output-has-no-indices": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    for index in z.iter_indices():
        z.store(z.load())
launch(kernel)
""",
    "mapped-output-is-not-cut-further": kernel("z.partition_mut((2,))"),
    "mapped-output-has-no-arithmetic": kernel("tl.exp(z)"),
    "span-of-data-where-checks-are-denied": """
@tw.entry(deny_in_kernel_checks=True)
def kernel(z: tl.MappedPartitionMut[i32], first: tl.Tensor[i32, tl.Dyn]) -> None:
    f = first.load_tile((1,), [0]).item()
    for index in z.iter_indices_within(((f, 1),)):
        z.store(tl.ones(z.shape, i32), index)
z = tw.zeros((16,), i32).sync()
kernel(z.partition_mut((4,)).map((1,)), np.zeros(1, "i4")).sync()
""",
    "span-of-a-number-beyond-the-tiles": """
@tw.entry
def kernel(z: tl.MappedPartitionMut[i32], n: i32) -> None:
    for index in z.iter_indices_within(((2, n),)):
        z.store(tl.ones(z.shape, i32), index)
z = tw.zeros((16,), i32).sync()
kernel(z.partition_mut((4,)).map((1,)), 3).sync()
""",
}

PROGRAMS = HOST | LAUNCH | KERNELS

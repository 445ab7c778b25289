"""A kernel that prints where it stands in its grid."""

from __future__ import annotations

import tilewright as tw
import tilewright.lang as tl


@tw.entry
def hello() -> None:
    """Print this block's place and the size of the grid."""
    x, y, z = tl.get_tile_block_id()
    nx, ny, nz = tl.get_num_tile_blocks()
    print(f"Hello, I am tile <{x}, {y}, {z}> in a kernel with <{nx}, {ny}, {nz}> tiles.")


def main() -> None:
    """Launch one block: without an output there is nothing to take the grid from, so say it."""
    hello().grid((1, 1, 1)).sync()


if __name__ == "__main__":
    main()

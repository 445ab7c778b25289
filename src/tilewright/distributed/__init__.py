"""Work across processes and machines: collectives as ops, Ray and Dask.

Nothing is imported before it is asked for: torch by `init`, Ray and Dask by the modules of their
names.
"""

from __future__ import annotations

from ..base.tracebacks import publish
from .ambient import default_group, init
from .collectives import (
    Collective,
    all_gather,
    all_reduce,
    all_to_all,
    broadcast,
    recv,
    reduce_scatter,
    send,
)
from .errors import RankError
from .group import Group
from .object_store import ObjectStore
from .parcels import Parcel
from .sharding import ShardedPartition, ShardedTensor, replicate, shard

__all__ = [
    "Collective", "Group", "ObjectStore", "Parcel", "RankError", "ShardedPartition",
    "ShardedTensor", "all_gather", "all_reduce", "all_to_all", "broadcast", "default_group", "init",
    "recv", "reduce_scatter", "replicate", "send", "shard",
]  # fmt: skip

publish(__all__, globals())

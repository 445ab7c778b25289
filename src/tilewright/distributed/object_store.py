"""Compiled code in an object store, through fsspec: one compilation for a whole cluster.

    tw.jit_cache.enable(ObjectStore("s3://bucket/kernels", key=secret))

What comes from the store is untrusted input: bytes with checksums, never a pickle.
With a key, entries are signed, and one that was signed with another key counts as not there.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from random import random
from typing import Any
from uuid import uuid4

SUFFIX, LEASE = ".tw", ".lease"
DIGEST = "sha256"
SIGNATURE = 32
"""Bytes of a signature, which is in front of the entry."""
PATIENCE = 120.0
"""Seconds after which the lease of a process that compiles counts as abandoned."""
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.5


class ObjectStore:
    """A store of compiled code, `tw.jit_cache.JitStore`, at an URL that fsspec knows.

    A process that compiles holds a lease, so that others wait for its entry instead of compiling
    the same. On stores that cannot create an object only if there is none, several may compile.
    """

    def __init__(
        self, url: str, *, key: bytes = b"", patience: float = PATIENCE, **options: Any
    ) -> None:
        """Open a store; `options` are those of the file system, such as credentials."""
        fsspec: Any = import_module("fsspec")
        self._files, root = fsspec.core.url_to_fs(url, **options)
        self._root = str(root).rstrip("/")
        self._key, self._patience = key, patience
        self._files.makedirs(self._root, exist_ok=True)

    def get(self, name: str, /) -> bytes | None:
        """Return the entry of a name; None where there is none, or none of ours."""
        try:
            found: bytes = self._files.cat_file(self._path(name, SUFFIX))
        except FileNotFoundError:
            return None
        signature, entry = found[:SIGNATURE], found[SIGNATURE:]
        return entry if hmac.compare_digest(signature, self._sign(name, entry)) else None

    def put(self, name: str, entry: bytes, /) -> None:
        """Keep an entry."""
        self._files.pipe_file(self._path(name, SUFFIX), self._sign(name, entry) + entry)

    def contains(self, name: str, /) -> bool:
        """Return whether there is an entry that `get` would return."""
        return self.get(name) is not None

    def delete(self, name: str, /) -> None:
        """Forget an entry."""
        self._remove(self._path(name, SUFFIX))

    def clear(self) -> None:
        """Remove all entries."""
        for path in self._files.ls(self._root, detail=False):
            if str(path).endswith((SUFFIX, LEASE)):
                self._remove(str(path))

    @contextmanager
    def alone(self, name: str) -> Generator[None, None, None]:
        """Keep other processes from compiling the same for a while."""
        path, mine = self._path(name, LEASE), uuid4().bytes
        has_turn = self._wait_for_turn(path, name, mine)
        try:
            yield
        finally:
            if has_turn:
                self._end_lease(path, mine)

    def _wait_for_turn(self, path: str, name: str, mine: bytes) -> bool:
        """Return whether this process holds the lease; False: an entry has come meanwhile."""
        pause, held, since = FIRST_PAUSE, b"", time.monotonic()
        while not self._take(path, mine):
            if self.contains(name):
                return False
            found, now = self._holder(path), time.monotonic()
            if found != held:  # also where another process has ended one that was abandoned
                held, since = found, now
            elif now - since >= self._patience:
                self._end_lease(path, held)  # its holder has died, or takes too long
            time.sleep(pause * (1 + random()))  # who waits for the same does not look in step
            pause = min(2 * pause, LONGEST_PAUSE)
        return True

    def _take(self, path: str, mine: bytes) -> bool:
        try:
            self._files.pipe_file(path, mine, mode="create")
        except FileExistsError:
            return False
        return True

    def _holder(self, path: str) -> bytes:
        """Return what the holder of a lease has written; b"" where there is none."""
        try:
            found: bytes = self._files.cat_file(path)
        except FileNotFoundError:
            return b""
        return found

    def _end_lease(self, path: str, held: bytes) -> None:
        """End a lease, unless another process holds one by now."""
        if self._holder(path) == held:
            self._remove(path)

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._files.rm_file(path)

    def _path(self, name: str, suffix: str) -> str:
        return f"{self._root}/{name}{suffix}"

    def _sign(self, name: str, entry: bytes) -> bytes:
        return hmac.digest(self._key, name.encode() + entry, DIGEST)

"""A store of compiled code in a dict, which notes what it is asked."""

from __future__ import annotations


class DictStore:
    """The simplest store there is."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}
        self.asked: list[str] = []

    def get(self, name: str) -> bytes | None:
        self.asked.append("get")
        return self.entries.get(name)

    def put(self, name: str, entry: bytes) -> None:
        self.asked.append("put")
        self.entries[name] = entry

    def contains(self, name: str) -> bool:
        self.asked.append("contains")
        return name in self.entries

    def delete(self, name: str) -> None:
        self.asked.append("delete")
        self.entries.pop(name, None)

    def clear(self) -> None:
        self.asked.append("clear")
        self.entries.clear()

"""The command `python -m benchmarks.quotes`: writes the figures of all pages again."""

from __future__ import annotations

from . import ROOT, pages, quoted


def main() -> int:
    """Write the pages whose figures have changed."""
    for path in pages():
        old = path.read_text(encoding="utf-8")
        new = quoted(old)
        if new != old:
            path.write_text(new, encoding="utf-8")
            print(f"wrote the figures of {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

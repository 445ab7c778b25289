"""The long description of the package: the README, whose links work outside of the repository."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s]+)(\))")
"""A link of Markdown to a file of the repository."""


def dynamic_metadata(
    settings: Mapping[str, Any], project: Mapping[str, Any]
) -> dict[str, dict[str, str]]:
    """Return the README for the metadata of the project, as scikit-build-core asks for it."""
    if settings:
        raise RuntimeError(f"the provider of the README has no settings, got {settings}")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    base = f"{project['urls']['Source']}/blob/v{project['version']}"
    content = with_absolute_links(text, base)
    return {"readme": {"content-type": "text/markdown", "text": content}}


def with_absolute_links(text: str, base: str) -> str:
    """Let links to files of the repository begin with an address.

    >>> with_absolute_links("[a](docs/a.md#b) [c](https://x) [d](#d)", "https://here")
    '[a](https://here/docs/a.md#b) [c](https://x) [d](#d)'
    """
    return LINK.sub(rf"\g<1>{base}/\g<2>\g<3>", text)

"""The page as one file: data, style, and the modules in `page/`, which are put together here.

The modules are plain JavaScript that browsers run as it is. One file can be sent to others and
opened without a server, so the modules are joined into one; their names must differ for that. A
policy in the page allows this script and this style only: nothing is loaded, and nothing is sent.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

FOLDER = "page"
START = "app.js"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(?P<module>[\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(async )?(function|const|let|class) )", re.MULTILINE)


def html_of(data: Mapping[str, Any]) -> str:
    """Return the page that shows some data."""
    script, style = script_of(), _read("style.css")
    policy = "; ".join([
        "default-src 'none'", f"script-src {_hash(script)}", f"style-src {_hash(style)}",
        "base-uri 'none'", "form-action 'none'",
    ])  # fmt: skip
    title = escape(f"{data['title']}: tilewright explore")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<script type="application/json" id="data">{_embedded(data)}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _embedded(data: Mapping[str, Any]) -> str:
    """Return JSON in which no text can end the element around it."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def script_of() -> str:
    """Return all modules as one, each behind those that it imports."""
    found: dict[str, str] = {}
    _gather(START, found)
    return "\n".join(found.values())


def _gather(module: str, found: dict[str, str]) -> None:
    text = _read(module)
    for match in IMPORT.finditer(text):
        if match["module"] not in found:
            _gather(match["module"], found)
    found[module] = EXPORT.sub("", IMPORT.sub("", text))


def _read(name: str) -> str:
    return files(__package__ or __name__).joinpath(FOLDER, name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

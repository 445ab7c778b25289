# Need not be installed: checkers know as little of it where it is.

from typing import Any

def __getattr__(name: str) -> Any: ...

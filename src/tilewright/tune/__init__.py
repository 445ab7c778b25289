"""The autotuner, `tilewright.tune`: chooses tiles, constants and hints of kernels by measuring.

space     configurations, and what a search space is
key       which calls share a choice
choice    one configuration, which builds launches
kernel    kernels that tune themselves: a dictionary lookup before each launch
tuner     one tuning: compile in parallel, check, race
sandbox   where candidates run: copies of the outputs
agreement whether results agree
clock     time of the device, or of the host
race      who drops out, and when
facts     what a choice depends on
records   choices on disk, exported and imported
report    what was tried, as a table and a plot
"""

from __future__ import annotations

from ..base.tracebacks import publish
from .kernel import Autotune, TunedKernel, autotune
from .records import export, import_
from .report import Report
from .space import Config, Space, search

__all__ = [
    "Autotune",
    "Config",
    "Report",
    "Space",
    "TunedKernel",
    "autotune",
    "export",
    "import_",
    "search",
]

publish(__all__, globals())

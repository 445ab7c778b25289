"""A process that judges programs: JSON of one per line in, JSON of its verdict out."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from functools import partial

ASSEMBLER, SIMULATED = "assembler", "simulated"
"""Stand for CUDA without a GPU: kernels are compiled for an architecture and not run, or run by the
interpreter of Tile IR."""
ARCH = "sm_90"


def main() -> None:
    """Judge until there is nothing left, or the device takes no more work."""
    device = sys.argv[1]
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what others print does not belong among the replies
    from fuzz.wild import running
    from fuzz.wild.program import Wild

    judge = partial(running.judge, device="cuda" if device == SIMULATED else device)
    if device in (ASSEMBLER, SIMULATED):
        from support import simulated_cuda

        simulated_cuda.install(ARCH, assemble=device == ASSEMBLER)
        if device == ASSEMBLER:
            simulated_cuda.SimulatedCuda._interpret = lambda *given: None
            judge = running.judge_assembly
    for line in sys.stdin:
        verdict = judge(Wild.of(line))
        replies.write(json.dumps(asdict(verdict)) + "\n")
        replies.flush()
        if verdict.kind == running.DOWNS:
            return


if __name__ == "__main__":
    main()

"""What editors do with debugpy: breakpoints on lines, steps, frames and variables of kernels."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from support.dap import Client

pytest.importorskip("debugpy")
pytestmark = pytest.mark.full

PROGRAM = """
import numpy as np
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

def inner(t, by):
    u = t * by
    return u + 1.0

@tw.entry
def kernel(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
    t = tl.load_tile_like(x, out)
    acc = t * 0.0
    for k in range(n):
        acc = acc + inner(t, 2.0)
    out.store(acc)

x = np.arange(16, dtype=np.float32)
z = tw.zeros((16,)).sync()
tw.debug(kernel, block=2)(z.partition_mut((4,)), x, 2).sync()
print("RESULT", z.to_numpy().tolist() == [2 * (2 * v + 1) for v in range(16)])
"""
LINES = {text.strip(): number for number, text in enumerate(PROGRAM.splitlines(), 1)}


@pytest.fixture
def session(tmp_path):
    """A program under debugpy, to which an editor has connected."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-Xfrozen_modules=off", "-m", "debugpy", "--listen",
               f"127.0.0.1:{port}", "--wait-for-client", str(path)]  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONBREAKPOINT"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        client = Client(port)
        client.ask("initialize", adapterID="test", linesStartAt1=True, pathFormat="path")
        attached = client.send("attach", justMyCode=True)
        client.wait("initialized")
        yield path, client, attached, process
        client.close()
        process.kill()


def stop(client):
    """Return the thread that has stopped, and its frames as names and lines."""
    thread = client.wait("stopped")["threadId"]
    frames = client.ask("stackTrace", threadId=thread)["stackFrames"]
    return thread, frames


def variables(client, frame):
    (scope, *_) = client.ask("scopes", frameId=frame["id"])["scopes"]
    found = client.ask("variables", variablesReference=scope["variablesReference"])["variables"]
    return {entry["name"]: entry["value"] for entry in found}


def test_an_editor_steps_through_a_kernel(session):
    path, client, attached, process = session
    wanted = [{"line": LINES["acc = acc + inner(t, 2.0)"], "condition": "k == 1"}]
    client.ask("setBreakpoints", source={"path": str(path)}, breakpoints=wanted)
    client.ask("configurationDone")
    client.answer(attached)

    thread, (top, *_) = stop(client)  # where tw.debug stops
    assert top["name"] == "kernel" and top["source"]["path"] == str(path)

    client.ask("continue", threadId=thread)
    thread, (top, *_) = stop(client)  # at the breakpoint, where its condition holds
    assert (top["name"], top["line"]) == ("kernel", LINES["acc = acc + inner(t, 2.0)"])
    known = variables(client, top)
    assert known["k"] == "np.int32(1)" and known["t"].startswith("array([ 8.,  9., 10., 11.]")
    shape = client.ask("evaluate", expression="(block, acc.max())", frameId=top["id"])["result"]
    assert shape == "((2, 0, 0), np.float32(23.0))"

    client.ask("stepIn", threadId=thread)
    thread, (top, below, *_) = stop(client)
    assert top["name"] == "inner" and below["name"] == "kernel"
    assert below["line"] == LINES["acc = acc + inner(t, 2.0)"]
    if top["line"] == LINES["def inner(t, by):"]:
        client.ask("next", threadId=thread)
        thread, (top, *_) = stop(client)
    assert top["line"] == LINES["u = t * by"]
    client.ask("next", threadId=thread)
    thread, (top, *_) = stop(client)
    assert top["line"] == LINES["return u + 1.0"] and "u" in variables(client, top)

    client.ask("stepOut", threadId=thread)
    thread, (top, *_) = stop(client)
    assert top["name"] == "kernel"
    client.ask("continue", threadId=thread)
    client.wait("terminated")
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "RESULT True"

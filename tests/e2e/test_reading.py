"""What is displayed, and what it is compared with, as the reader of a file chooses."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.rpc import CAPABILITIES, Client, RpcError

pytestmark = pytest.mark.slow

TEXT = """\
from tvm.script import tirx as T


@T.prim_func
def gemm(A: T.Buffer((1024, 512), "float32"), B: T.Buffer((512, 256), "float32"),
         C: T.Buffer((1024, 256), "float32")):
    for i in T.thread_binding(1024, thread="blockIdx.x"):
        for j in T.thread_binding(256, thread="threadIdx.x"):
            C[i, j] = T.float32(0)
            for k in T.serial(512):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


# tirlens: on
@T.prim_func
def scale(A: T.Buffer((4096,), "float32")):
    for i in T.thread_binding(32, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
"""
GEMM, LOOP, PRODUCT, SCALE = 4, 9, 10, 15
SHORTER = TEXT.replace("range(512)", "range(256)").replace("serial(512)", "serial(256)")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "kernels.py"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


@pytest.fixture
def start(tmp_path: Path, tvm_python: Path) -> Iterator[Any]:
    clients: list[Client] = []

    def run(**settings: object) -> Client:
        client = Client(environment={"XDG_STATE_HOME": str(tmp_path / "state")})
        clients.append(client)
        client.initialize(trusted=True, interpreter=str(tvm_python), settings=settings)
        return client

    yield run
    for client in clients:
        client.kill()


def saved(client: Client, file: Path, uri: str, version: int, text: str) -> None:
    ready = client.states(uri).count("ready")
    client.replace(uri, version, text)
    file.write_text(text)
    client.save(uri)
    client.wait_ready(uri, ready + 1)


def time_of(client: Client, uri: str, line: int, pattern: str) -> str:
    """The first part of the lens at `line` as soon as it matches."""
    title = ""
    for _ in range(300):
        title = client.lenses(uri)[line][0]
        if re.search(pattern, title):
            return title
        time.sleep(0.1)
    raise AssertionError(title)


def messages(client: Client) -> list[str]:
    """What the server has shown."""
    return [
        given["message"] for name, given in client.notifications if name.endswith("showMessage")
    ]


def test_changes_since_the_last_save_and_the_baseline(start: Any, file: Path) -> None:
    client = start(hintChanges=True)
    uri = client.open(file)
    client.wait_ready(uri)
    assert time_of(client, uri, GEMM, r"^[\d.]+ [num]?s$")
    name = client.command("tirlens.pinBaseline", uri)
    saved(client, file, uri, 2, SHORTER)
    first = time_of(client, uri, GEMM, r"\(-\d+%, baseline -\d+%\)$")
    labels = dict(client.hints(uri))
    assert "% (-" in labels[LOOP], labels
    assert all(len(label) <= 33 for label in labels.values())
    (gemm, scale) = client.command("tirlens.report", uri)["json"]["kernels"]
    history = gemm["history"]
    assert [item["version"] for item in history["saves"]] == [1, 2]
    assert history["baseline"]["name"] == name
    assert history["last_save"]["lines"][0]["line"] == PRODUCT + 1
    assert not scale["history"]["last_save"]["lines"]
    saved(client, file, uri, 3, "# a comment\n" + SHORTER)
    assert time_of(client, uri, GEMM + 1, "baseline")
    client.kill()

    again = start()
    uri = again.open(file, SHORTER)
    assert first.partition("baseline")[2] in time_of(again, uri, GEMM, r"\(baseline -")
    again.command("tirlens.clearBaseline", uri)
    time_of(again, uri, GEMM, r"^[\d.]+ [num]?s$")


def test_a_revision_is_the_baseline_of_its_repository(start: Any, file: Path) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", str(file.parent), *arguments], check=True)
    client = start()
    uri = client.open(file, SHORTER)
    client.wait_ready(uri)
    with pytest.raises(RpcError, match="no revision missing"):
        client.command("tirlens.pinBaseline", uri, "missing")
    assert client.command("tirlens.pinBaseline", uri, "HEAD") == "HEAD"
    time_of(client, uri, GEMM, r"\(baseline -")
    assert "Baseline HEAD: " in (client.hover(uri, GEMM, 6) or "")


def test_what_is_displayed_is_the_readers_choice(start: Any, file: Path) -> None:
    client = start(gutterHeat=True)
    uri = client.open(file)
    client.wait_ready(uri)
    everything = client.hints(uri)
    assert set(client.lenses(uri)) == {GEMM, SCALE}

    assert client.command("tirlens.show") == "hottest"
    hottest = client.hints(uri)
    assert PRODUCT in {line for line, _ in hottest}
    assert len(hottest) < len(everything)
    assert client.command("tirlens.show") == "marked"
    assert set(client.lenses(uri)) == {SCALE}
    assert all(line > SCALE for line, _ in client.hints(uri))
    assert all(item["line"] >= SCALE for item in client.command("tirlens.heat", uri))
    assert client.command("tirlens.show", "off") == "off"
    assert (client.lenses(uri), client.hints(uri), client.command("tirlens.heat", uri)) == (
        {},
        [],
        [],
    )
    assert client.command("tirlens.show") == "all"
    assert client.hints(uri) == everything

    (hot,) = (item for item in client.command("tirlens.heat", uri) if item["line"] == PRODUCT)
    assert client.command("tirlens.hottestLine", uri, GEMM) == hot
    assert 0.5 < hot["share"] <= 1
    assert client.command("tirlens.hottestLine", uri, SCALE)["kernel"] == "scale"


def test_hints_give_way(start: Any, file: Path) -> None:
    client = start(hintColumns=75)
    # The product's line is longer than the window.
    lines = TEXT.splitlines()
    lines[PRODUCT] += f"  # {'long ' * 20}"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    uri = client.open(file)
    client.wait_ready(uri)
    hints = client.hints(uri)
    assert hints and PRODUCT not in dict(hints)
    assert all(len(lines[line]) + 1 + len(label) <= 75 for line, label in hints)


def test_all_that_a_lens_does_is_a_code_action(start: Any, file: Path) -> None:
    client = start()
    uri = client.open(file)
    client.wait_ready(uri)
    at = {"line": PRODUCT, "character": 0}
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}}
    found = client.request("textDocument/codeAction", params | {"context": {"diagnostics": []}})
    commands = {item["command"]["command"] for item in found if "command" in item}
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert {lens["command"]["command"] for lens in lenses} <= commands
    pin = next(item["command"] for item in found if "Pin" in item["title"])
    client.request("workspace/executeCommand", {**pin, "title": None})
    client.wait(lambda: any("compared with pinned" in text for text in messages(client)))
    assert CAPABILITIES["window"].get("showDocument") is None
    client.command("tirlens.goToHottestLine", uri, PRODUCT)
    client.wait(lambda: any("Line 11 takes" in text for text in messages(client)))

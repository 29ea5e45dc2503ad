"""Requirements 8, 9 and 12: the last save wins, refreshes are few, storms are taken calmly."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from robust.conftest import Start
from support.robust import amount, kernel, until, workers
from support.rpc import Client

pytestmark = pytest.mark.slow


def _slow(size: int, delay_s: float) -> str:
    return f"import time\n_wait = time.sleep({delay_s:.3f})\n" + kernel(size)


def _flop(client: Client, uri: str) -> int | None:
    report = client.command("tirlens.report", uri, None)
    kernels = report["json"]["kernels"] if report else []
    return kernels[0]["flop"] if kernels else None


def _published(client: Client, uri: str) -> list[Any]:
    method = "textDocument/publishDiagnostics"
    return [p for name, p in client.notifications if name == method and p["uri"] == uri]


def test_08_last_save_wins_over_random_interleavings(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    sizes = iter(range(128, 10**9, 128))
    source = random.Random(8)
    for round_ in range(amount(30, 1000)):
        path = tmp_path / f"file_{round_}.py"
        uri = path.as_uri()
        saved = next(sizes)
        version, opened, closed, settings = 1, True, 0, 0
        now = saved
        client.open(path, _slow(saved, source.random() * 0.1))
        for _ in range(source.randrange(2, 8)):
            action = source.choice(["edit", "edit", "save", "save", "close", "settings", "wait"])
            if action == "edit" and opened:
                now, version = next(sizes), version + 1
                client.replace(uri, version, _slow(now, source.random() * 0.1))
            elif action == "save" and opened:
                client.save(uri)
                saved = now
            elif action == "close":
                if opened:
                    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
                    closed += 1
                else:
                    saved = now = next(sizes)
                    version = 1
                    client.open(path, _slow(saved, source.random() * 0.1))
                opened = not opened
            elif action == "settings":
                settings += 1
                share = {"minPercentage": settings % 3}
                params = {"settings": {"tirlens": share}}
                client.notify("workspace/didChangeConfiguration", params)
            else:
                time.sleep(source.random() * 0.15)
        if opened:
            # Every save has its "analyzing" or "ready"; what is shown last is the last one's.
            until(lambda uri=uri, saved=saved: _flop(client, uri) == saved, 90, f"{saved} {round_}")
            stale = any("stale: save to refresh" in part for part in client.lenses(uri).values())
            assert stale == (now != saved)
            client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            closed += 1
        client.command("tirlens.devices")
        published = len(_published(client, uri))
        last = _published(client, uri)[-1]
        assert last["diagnostics"] == [], "nothing is shown of a closed file"
        bare = [item for item in _published(client, uri) if "version" not in item]
        assert len(bare) == closed, "all diagnostics but those taken back carry the version"
        if round_ % 5 == 0:
            time.sleep(0.3)
            assert len(_published(client, uri)) == published, "nothing is published once closed"


def _refreshes(client: Client) -> tuple[int, int]:
    kinds = ("workspace/inlayHint/refresh", "workspace/codeLens/refresh")
    return client.requests.count(kinds[0]), client.requests.count(kinds[1])


def test_09_one_refresh_an_analysis_and_none_by_typing(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "a.py", kernel(1024))
    client.wait_ready(uri)
    client.command("tirlens.devices")
    assert _refreshes(client) == (1, 1)
    for version in range(2, 300):
        client.replace(uri, version, kernel(1024) + f"# {version}\n")
    time.sleep(0.5)
    assert client.lenses(uri)
    assert _refreshes(client) == (1, 1), "typing refreshes nothing"
    for analysis in range(2, 6):
        client.replace(uri, 300 + analysis, kernel(1024 * analysis))
        client.save(uri)
        client.wait_ready(uri, analysis)
        client.command("tirlens.devices")
        assert _refreshes(client) == (analysis, analysis)
    client.save(uri)
    client.wait_ready(uri, 6)
    client.command("tirlens.devices")
    assert _refreshes(client) == (5, 5), "a save without a change refreshes nothing"


def test_09_no_refresh_for_a_client_that_cannot(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    client = start()
    options = {"trusted": True, "interpreter": str(tvm_python)}
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    client.request("initialize", {**params, "initializationOptions": options})
    client.notify("initialized", {})
    uri = client.open(tmp_path / "a.py", kernel(1024))
    client.wait_ready(uri)
    client.command("tirlens.devices")
    assert client.requests == []


def test_09_no_refresh_for_saves_where_nothing_is_analysed(start: Start, tmp_path: Path) -> None:
    client = start()
    client.initialize(trusted=False)
    uri = client.open(tmp_path / "a.py", kernel(1024))
    for version in range(2, 6):
        client.replace(uri, version, kernel(1024 * version) + "def f(:\n" * (version % 2))
        client.save(uri)
        wrong = version % 2
        client.wait(lambda wrong=wrong: len(client.diagnostics(uri)) == wrong)
    assert set(client.states(uri)) == {"untrusted"}
    assert _refreshes(client) == (0, 0)


def test_09_one_refresh_when_the_settings_change_what_is_shown(
    start: Start, tmp_path: Path
) -> None:
    client = start()
    client.initialize(trusted=False)
    uri = client.open(tmp_path / "a.py", kernel(1024))
    assert client.lenses(uri)
    changes: list[tuple[dict[str, object], int]] = [
        ({"codeLens": False}, 1),
        ({"codeLens": False, "timeout": 7}, 0),
        ({"minPercentage": 5}, 1),
    ]
    expected = 0
    for settings, refreshes in changes:
        params = {"settings": {"tirlens": settings}}
        client.notify("workspace/didChangeConfiguration", params)
        client.command("tirlens.devices")
        expected += refreshes
        assert _refreshes(client) == (expected, expected), settings


def test_12_a_hundred_files_saved_in_a_second(
    start: Start, mark: dict[str, str], tmp_path: Path, tvm_python: Path
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uris = []
    for number in range(100):
        uri = client.open(tmp_path / f"file_{number}.py", kernel(128))
        client.replace(uri, 2, kernel(128 * (number + 2)))
        client.save(uri)
        client.save(uri)
        uris.append(uri)
    used: set[int | None] = set()

    def done() -> bool:
        used.update(w["pid"] for w in client.command("tirlens.debugInformation")["workers"])
        return all("ready" in client.states(uri) for uri in uris)

    until(done, 120, "all files")
    assert len(used - {None}) == 1, "one worker for each environment"
    until(lambda: len(workers(mark)) == 1, 10, "one process, and what it forks")
    assert [_flop(client, uri) for uri in uris] == [128 * (n + 2) for n in range(100)]
    # One job a file: what was asked for before the last save was never run.
    for uri in uris:
        assert client.states(uri).count("ready") <= 2
    order = [p["uri"] for name, p in client.notifications if name == "tirlens/status"
             and p["state"] == "ready"]  # fmt: skip
    assert order.index(uris[-1]) < 20, "what was saved last comes first"

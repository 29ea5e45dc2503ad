"""What the server sends without being asked: registrations, refreshes, progress, the log."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.lsp_session import SCALE_FACTS, SCALE_TEXT, ClientHere, run
from support.rpc import CAPABILITIES
from tirlens.session import events


def capable(**workspace: Any) -> dict[str, Any]:
    return {**CAPABILITIES, "workspace": {**CAPABILITIES["workspace"], **workspace}}


@pytest.mark.parametrize("can", [True, False, None])
def test_a_client_that_can_watch_is_asked_to_watch_all_that_analyses_read(can: bool | None) -> None:
    given = {} if can is None else {"didChangeWatchedFiles": {"dynamicRegistration": can}}

    async def scenario(client: ClientHere) -> None:
        client.notify("initialized", {})
        await client.settle()
        registered = [each for method, each in client.requests if "register" in method]
        if not can:
            assert registered == []
            return
        ((registration,),) = (each["registrations"] for each in registered)
        assert registration["method"] == "workspace/didChangeWatchedFiles"
        watchers = registration["registerOptions"]["watchers"]
        assert [each["globPattern"] for each in watchers] == [
            "**/*.py",
            "**/*.ipynb",
            "**/tirlens-captured*.json",
            "**/tirlens-measured.toml",
        ]

    run(scenario, capabilities=capable(**given))


@pytest.mark.parametrize("hints", [True, False])
@pytest.mark.parametrize("lenses", [True, False])
def test_views_are_refreshed_for_clients_that_support_it(
    tmp_path: Path, hints: bool, lenses: bool
) -> None:
    workspace = {
        "inlayHint": {"refreshSupport": hints},
        "codeLens": {"refreshSupport": lenses},
    }

    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        asked = {method for method, _ in client.requests if "refresh" in method}
        wanted = {"workspace/inlayHint/refresh": hints, "workspace/codeLens/refresh": lenses}
        assert asked == {method for method, can in wanted.items() if can}
        assert {"uri": uri} in client.sent("$/tirlens/changed")
        client.requests.clear()
        await client.command("tirlens.show", "off")
        await client.settle()
        asked = {method for method, _ in client.requests if "refresh" in method}
        assert asked == {method for method, can in wanted.items() if can}

    run(scenario, capabilities=capable(**workspace))


def test_progress_is_begun_reported_and_ended() -> None:
    uri = "file:///folder/a.py"

    async def scenario(client: ClientHere) -> None:
        sender = client.server.client
        assert client.server.session
        sender.send(events.Status(uri, "analyzing"))
        sender.send(events.Progress(uri, "tracing scale", 1, 4))
        await client.until(lambda: client.sent("$/progress"))
        ((method, created),) = client.requests
        assert method == "window/workDoneProgress/create"
        begin = client.sent("$/progress")[0]
        assert begin["token"] == created["token"]
        assert begin["value"] == {
            "kind": "begin",
            "title": "TIRLens: analysing a.py",
            "cancellable": True,
            "message": "tracing scale",
            "percentage": 25,
        }
        sender.send(events.Progress(uri, "tracing other", 3, 4))
        sender.send(events.Progress(uri, "importing", 0, 0))
        sender.send(events.Progress("file:///other.py", "nothing began", 1, 2))
        sender.send(events.ProgressEnded(uri))
        sender.send(events.ProgressEnded(uri))
        report, unknown, end = (each["value"] for each in client.sent("$/progress")[1:])
        assert report == {"kind": "report", "message": "tracing other", "percentage": 75}
        assert unknown == {"kind": "report", "message": "importing"}
        assert end == {"kind": "end"}
        assert sender.progress_of(begin["token"]) is None

    run(scenario)


@pytest.mark.parametrize("way", ["it ends at once", "the client cannot"])
def test_no_progress_is_displayed(way: str) -> None:
    capabilities = CAPABILITIES if way == "it ends at once" else {}

    async def scenario(client: ClientHere) -> None:
        sender = client.server.client
        sender.send(events.Status("file:///a.py", "analyzing"))
        if way == "it ends at once":
            sender.send(events.ProgressEnded("file:///a.py"))
        await asyncio.sleep(0.4)
        assert client.sent("$/progress") == []

    run(scenario, capabilities=capabilities)


def test_the_progress_of_a_file_is_cancelled_by_its_token(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        other = await client.analysed(tmp_path / "b.py", SCALE_TEXT, SCALE_FACTS)
        for each in (uri, other):
            client.server.client.send(events.Status(each, "analyzing"))
        await client.until(lambda: len(client.sent("$/progress")) == 2)
        token = next(
            each["token"] for each in client.sent("$/progress") if "b.py" in each["value"]["title"]
        )
        client.notify("window/workDoneProgress/cancel", {"token": token})
        assert client.states(other)[-1] == "idle"
        assert client.states(uri)[-1] == "analyzing"
        client.notify("window/workDoneProgress/cancel", {"token": "unknown"})
        assert client.states(uri)[-1] == "analyzing"

    run(scenario)


def test_wrong_settings_are_written_to_the_log(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        client.open(tmp_path / "a.py", SCALE_TEXT)
        (logged,) = client.sent("window/logMessage")
        assert logged["type"] == 2
        assert "device" in logged["message"]
        # Said once, and again only when they change.
        settings = {"settings": {"tirlens": {"device": 4}}}
        client.notify("workspace/didChangeConfiguration", settings)
        assert len(client.sent("window/logMessage")) == 2
        assert client.messages() == []

    run(scenario, trusted=False, settings={"device": 3})


def test_a_change_on_disk_of_a_capture_analyses_the_files_below(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        before = len(client.states(uri))
        changes = [{"uri": (tmp_path / "a.txt").as_uri(), "type": 2}]
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        await client.settle()
        assert len(client.states(uri)) == before
        changes = [{"uri": (tmp_path / "tirlens-captured-2.json").as_uri(), "type": 1}]
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        await client.until(lambda: len(client.states(uri)) > before)

    run(scenario)

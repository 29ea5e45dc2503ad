"""The events of an analysis in which the server itself fails."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tirlens.session import readings
from tirlens.session.analysis import Reading
from tirlens.session.configuration import Configuration
from tirlens.session.events import Event, Status, ViewChanged
from tirlens.session.session import Session

URI = "file:///k.py"


def test_a_defect_of_the_server_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: str, path: Path) -> Reading:
        raise ValueError("broken")

    async def first_status() -> Status:
        events: asyncio.Queue[Event] = asyncio.Queue()
        session = Session(Configuration(trusted=True), events.put_nowait)
        session.open(URI, Path("/k.py"), 1, "")
        while not isinstance(event := await events.get(), Status):
            pass
        # The lens stays on no "analysing..." that never ends.
        assert session.documents[URI].is_cancelled
        assert isinstance(await events.get(), ViewChanged)
        await session.shut_down()
        return event

    monkeypatch.setattr(readings, "read_text", fail)
    status = asyncio.run(first_status())
    assert status == Status(URI, "error", "internal error: ValueError: broken")

"""Hints and lenses fit into the editor whose width the client knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.robust import kernel
from support.rpc import Client, RpcError

pytestmark = pytest.mark.slow


def test_hints_and_lenses_fit_into_the_room(tmp_path: Path, tvm_python: Path) -> None:
    with Client() as client:
        client.initialize(trusted=True, interpreter=str(tvm_python))
        uri = client.open(tmp_path / "a.py", kernel(1 << 20))
        client.wait_ready(uri)
        lines = kernel(1 << 20).splitlines()
        wide = (client.lenses(uri), client.hints(uri))
        (titles,) = wide[0].values()
        assert "FLOP" in titles[2]

        refreshes = client.requests.count("workspace/codeLens/refresh")
        client.command("tirlens.setRoom", uri, 84, 40)
        assert client.requests.count("workspace/codeLens/refresh") == refreshes + 1
        (titles,) = client.lenses(uri).values()
        assert len(" | ".join(titles)) <= 40
        assert titles[0].endswith("s")
        assert titles[-1] == "h100-sxm"
        narrow = client.hints(uri)
        assert all(len(lines[line]) + 1 + len(label) <= 84 for line, label in narrow)
        # A reader of a narrower editor scrolls, to code and hints alike.
        client.command("tirlens.setRoom", uri, 20, 40)
        scrolled = client.hints(uri)
        assert scrolled and all(len(lines[line]) + 1 + len(label) <= 80 for line, label in scrolled)
        client.command("tirlens.setRoom", uri, 84, 40)
        refreshes = client.requests.count("workspace/codeLens/refresh") - 1
        # The same room is no news, and an unknown one is the default.
        client.command("tirlens.setRoom", uri, 84, 40)
        assert client.requests.count("workspace/codeLens/refresh") == refreshes + 1
        client.command("tirlens.setRoom", uri, None, None)
        assert (client.lenses(uri), client.hints(uri)) == wide
        with pytest.raises(RpcError):
            client.command("tirlens.setRoom", uri, "wide", 40)
        client.command("tirlens.setRoom", "file:///nowhere.py", 60, 40)

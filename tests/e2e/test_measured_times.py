"""The editor shows stored measured times beside predictions, and says when the text is another."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from support.robust import kernel, until
from support.rpc import Client
from tirlens import source
from tirlens.measured.matching.stored_times import StoredTime, store
from tirlens.source.digest import KernelDigests

pytestmark = pytest.mark.slow


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def _first_title(client: Client, uri: str) -> str:
    titles = [titles for titles in client.lenses(uri).values() if titles]
    return titles[0][0] if titles else ""


def test_a_measured_time_appears_and_counts_edits(
    client: Client, tmp_path: Path, tvm_python: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    path = tmp_path / "kernels" / "a.py"
    path.parent.mkdir()
    text = kernel(1 << 20)
    path.write_text(text)
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(path)
    client.wait_ready(uri)
    assert "measured" not in _first_title(client, uri)

    table = tmp_path / "tirlens-measured.toml"
    digest = KernelDigests(source.read(text)).at(5)
    assert digest is not None
    entry = StoredTime(
        "kernels/a.py", "scale", "scale", "scale", "h100-sxm", 2.61e-6,
        datetime.now(timezone.utc) - timedelta(days=3), "tirlens measure", digest,
    )  # fmt: skip
    store(table, [entry])
    changes = [{"uri": table.as_uri(), "type": 1}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def ends_with(text: str) -> bool:
        return _first_title(client, uri).endswith(text)

    def says(text: str) -> bool:
        return text in _first_title(client, uri)

    until(lambda: ends_with("measured 2.61 us 3 days ago"), 60, "the measured time")
    hover = client.hover(uri, 4, 5) or ""
    assert "Measured 2.61 us on h100-sxm by tirlens measure, 3 days ago" in hover
    assert "of it, " in hover
    (found,) = client.command("tirlens.report", uri, None)["json"]["kernels"]
    (measured,) = found["measured"]
    assert (measured["time_s"], measured["is_edited"], measured["edits"]) == (2.61e-6, False, None)

    version = 1

    def save(new: str) -> None:
        nonlocal version
        version += 1
        path.write_text(new)
        client.replace(uri, version, new)
        client.save(uri)

    save(text.replace("float32(2)", "float32(3)"))
    until(lambda: says(", 1 edit since"), 60, "the first edit")
    save(text.replace("float32(2)", "float32(4)"))
    until(lambda: says(", 2 edits since"), 60, "the second edit")
    save("# A comment.\n" + text.replace("float32(2)", "float32(4)  # four"))
    until(lambda: 5 in client.lenses(uri), 60, "the comment")
    assert says(", 2 edits since")
    save(text)
    until(lambda: ends_with(" 3 days ago"), 60, "the text as it was measured")

    table.write_text("<<<<<<< HEAD\n")
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    until(lambda: "measured" not in _first_title(client, uri), 60, "the broken file")

"""The second tier in the editor: figures from the source at once, lowered ones soon after."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.rpc import Client

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parent.parent / "examples" / "gemm_tilelang.py"
DEFINITION = 29
LIMIT_S = 60.0
COMPILER_LIMIT_S = 300.0
CHANGED = "$/tirlens/changed"


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def wait_for(client: Client, uri: str, text: str, limit_s: float = LIMIT_S) -> str:
    """The hover of the second kernel's definition when `text` is in it."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        found = client.hover(uri, DEFINITION, 5)
        if found is not None and text in found:
            return found
        time.sleep(0.2)
    raise AssertionError(f"no {text!r} in {client.hover(uri, DEFINITION, 5)}")


def changes(client: Client) -> list[str]:
    return [given["uri"] for name, given in client.notifications if name == CHANGED]


def test_lowered_figures_come_after_those_of_the_source(
    client: Client, tmp_path: Path, tilelang_python: Path
) -> None:
    client.initialize(trusted=True, interpreter=str(tilelang_python))
    path = tmp_path / "kernels.py"
    path.write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    uri = client.open(path)
    client.wait_ready(uri)
    hover = wait_for(client, uri, "(lowered)")
    assert "blocks (source) of 256 threads (128 written), 32.8 kB shared (lowered)" in hover
    assert "| A, B read by TMA; C written 4 B at a time |" in hover
    assert client.diagnostics(uri) == []
    # No more than a refresh for each tier; the second one says nothing new of being ready.
    assert client.requests.count("workspace/inlayHint/refresh") <= 2
    assert client.requests.count("workspace/codeLens/refresh") <= 2
    assert client.states(uri).count("ready") == 1
    # What shows the figures elsewhere is told of both, each time with the advice.
    client.wait(lambda: len(changes(client)) == 2, LIMIT_S)
    assert changes(client) == [uri, uri]
    # Another number of stages takes other memory.
    client.replace(uri, 2, path.read_text(encoding="utf-8").replace("num_stages=2", "num_stages=3"))
    client.save(uri)
    client.wait_ready(uri, 2)
    assert "49.2 kB shared (lowered)" in wait_for(client, uri, "49.2 kB shared (lowered)")
    # A block of 100 threads has no whole warps to share a product out to.
    text = path.read_text(encoding="utf-8").replace("batch, threads=128", "batch, threads=100")
    client.replace(uri, 3, text)
    client.save(uri)
    client.wait(lambda: any(d["code"] == "lowering" for d in client.diagnostics(uri)), LIMIT_S)
    (finding,) = [d for d in client.diagnostics(uri) if d["code"] == "lowering"]
    assert finding["range"]["start"]["line"] == DEFINITION
    assert finding["message"].startswith("tilelang does not compile this for NVIDIA H100")
    assert "(source)" in wait_for(client, uri, "100 threads, 32.8 kB shared (source)")


def test_a_text_that_is_saved_over_before_it_is_lowered_is_compared_with(
    client: Client, tmp_path: Path, tilelang_python: Path
) -> None:
    client.initialize(trusted=True, interpreter=str(tilelang_python))
    path = tmp_path / "kernels.py"
    path.write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    uri = client.open(path)
    client.wait_ready(uri)
    wait_for(client, uri, "(lowered)")
    text = path.read_text(encoding="utf-8")
    changed = text.replace("block_N=128, block_K=32", "block_N=64, block_K=32")
    assert changed != text
    client.replace(uri, 2, changed)
    client.save(uri)
    client.wait_ready(uri, 2)
    # Neither text is lowered yet, and the change is there at once.
    assert re.search(r"(\(|, )\+\d+%\)$", client.lenses(uri)[DEFINITION][0])
    client.replace(uri, 3, text)
    client.save(uri)
    client.wait_ready(uri, 3)
    assert re.search(r"(\(|, )-\d+%\)$", client.lenses(uri)[DEFINITION][0])
    wait_for(client, uri, "(lowered)")
    assert re.search(r"(\(|, )-\d+%\)$", client.lenses(uri)[DEFINITION][0])


def test_compiled_figures_come_after_those_of_lowered_code(
    tmp_path: Path, tilelang_python: Path, cuda_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where NVIDIA's compiler is at hand; the first figures do not wait for it."""
    monkeypatch.setenv("CUDA_HOME", str(cuda_home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "kernels.py"
    path.write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    with Client() as client:
        client.initialize(trusted=True, interpreter=str(tilelang_python))
        uri = client.open(path)
        client.wait_ready(uri)
        assert "(compiled)" not in str(client.hover(uri, DEFINITION, 5))
        hover = wait_for(client, uri, "registers a thread (compiled)", COMPILER_LIMIT_S)
        assert "| A, B read by TMA; C written 4 B at a time |" in hover
        assert client.states(uri).count("ready") == 1
        # A text that is saved over is compared by the tier that both have.
        text = path.read_text(encoding="utf-8")
        changed = text.replace("block_N=128, block_K=32", "block_N=64, block_K=32")
        client.replace(uri, 2, changed)
        client.save(uri)
        client.wait_ready(uri, 2)
        assert re.search(r"(\(|, )\+\d+%\)$", client.lenses(uri)[DEFINITION][0])

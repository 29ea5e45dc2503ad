"""A real file of each framework, opened, edited and saved in the real server."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.robust import kernel
from support.rpc import Client

pytestmark = pytest.mark.slow

TVM = """\
from tvm.script import tirx as T


@T.prim_func
def gemm(A: T.Buffer((1024, 512), "float32"), B: T.Buffer((512, 256), "float32"),
         C: T.Buffer((1024, 256), "float32")):
    for i in T.thread_binding(1024, thread="blockIdx.x"):
        for j in T.thread_binding(256, thread="threadIdx.x"):
            C[i, j] = T.float32(0)
            for k in T.serial(512):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


@T.prim_func
def scale(A: T.Buffer((4096,), "float32")):
    for i in T.thread_binding(32, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
"""

# The line of the parameters with their defaults, and that of the launch.
PARAMETERS, LAUNCH = 4, 8

TILELANG = """\
import tilelang
import tilelang.language as T


def matmul(M, N, K, block_M=128, block_N=128, block_K=32):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"),
             C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared((block_K, block_N), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])
    return main


kernel = matmul(4096, 4096, 4096)
"""


#: The size is left out by default and where a lens has no room for it beside the band of the time
#: and the advice. It tells which text the figures are of.
WITH_SIZE = {"lensParts": ["time", "verdict", "size"], "lensCharacters": 120}


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def _insert(line: int, text: str) -> dict[str, object]:
    at = {"line": line, "character": 0}
    return {"range": {"start": at, "end": at}, "text": text}


def _actions(client: Client, uri: str, line: int) -> dict[str, Any]:
    """The code actions at a 0-based line by their titles."""
    at = {"line": line, "character": 0}
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}}
    found = client.request("textDocument/codeAction", params | {"context": {"diagnostics": []}})
    return {action["title"]: action for action in found}


def _wait_for_edits(client: Client, uri: str, line: int) -> list[str]:
    """The edits offered at a line, each once the idle worker has tried it."""
    deadline = time.monotonic() + 60
    edits: list[str] = []
    while not edits and time.monotonic() < deadline:
        time.sleep(0.2)
        edits = [title for title in _actions(client, uri, line) if ", saves about " in title]
    return edits


def test_tvm_file(client: Client, tmp_path: Path, tvm_python: Path) -> None:
    client.initialize(trusted=True, interpreter=str(tvm_python), settings=WITH_SIZE)
    path = tmp_path / "kernels.py"
    path.write_text(TVM)
    uri = client.open(path)
    assert list(client.lenses(uri)) == [4, 14]
    client.wait_ready(uri)
    lenses = client.lenses(uri)
    assert list(lenses) == [4, 14], "the analysis changes the titles alone"
    assert re.fullmatch(r"[\d.]+ [num]?s", lenses[4][0])
    assert re.match(r"(waits for|L2 \d+% busy)", lenses[4][1])
    assert lenses[4][-2] == "1024x512 fp32"
    assert lenses[4][-1] == "h100-sxm"
    assert client.diagnostics(uri) == []

    hints = dict(client.hints(uri))
    assert "268 MFLOP" in hints[6]
    assert "268 MFLOP" in hints[9]
    assert all(len(label) <= 33 and label.isascii() for label in hints.values())
    hover = client.hover(uri, 9, 13)
    assert hover is not None
    assert hover.startswith("**`for k in T.serial(512)`**: ")
    assert "/#trips) | 512 |" in hover
    assert "/#flop) | 268 MFLOP |" in hover

    # Two lines above move everything; a changed line has its hint in brackets, and its kernel
    # is stale, which is said at the end of the lens.
    client.edit(uri, 2, _insert(0, "# one\n# two\n"))
    assert dict(client.hints(uri)) == {line + 2: label for line, label in hints.items()}
    assert client.hover(uri, 11, 13) == hover
    moved = client.lenses(uri)
    assert moved == {line + 2: titles for line, titles in lenses.items()}
    client.edit(uri, 3, _insert(11, " "))
    assert dict(client.hints(uri))[11] == f"({hints[9]})"
    assert 8 in dict(client.hints(uri))
    assert client.lenses(uri)[6] == [*lenses[4], "stale: save to refresh"]
    assert client.lenses(uri)[16] == lenses[14]

    # Undo takes the mark away without a run.
    one_blank = {"start": {"line": 11, "character": 0}, "end": {"line": 11, "character": 1}}
    client.edit(uri, 4, {"range": one_blank, "text": ""})
    assert client.lenses(uri) == moved
    assert client.states(uri).count("ready") == 1

    # A change of the kernel, saved, is analysed again.
    calls = client.command("tirlens.calls", uri, "scale")
    assert calls["choices"] == []
    assert calls["fixed"] == {"size": "4096 fp32", "line": 17}
    client.replace(uri, 5, TVM.replace("512", "256"))
    client.save(uri)
    client.wait_ready(uri, 2)
    assert client.lenses(uri)[4][-2] == "1024x256 fp32"
    assert client.requests.count("workspace/inlayHint/refresh") == 2
    assert client.requests.count("workspace/codeLens/refresh") == 2

    # Saved without a change: nothing to do. Another device: the model alone.
    client.save(uri)
    client.wait_ready(uri, 3)
    client.command("tirlens.setDevice", uri, "a100-80-sxm")
    client.wait_ready(uri, 4)
    assert client.lenses(uri)[4][-1] == "a100-80-sxm"
    assert client.requests.count("workspace/inlayHint/refresh") == 3
    information = client.command("tirlens.debugInformation")
    assert len(information["durations_s"]) == 2
    roots = {name.partition(".")[0] for name in information["modules"]}
    assert roots.isdisjoint({"tvm", "tilelang", "torch", "kernels"})


def test_a_light_bulb_is_only_where_something_can_be_written(
    client: Client, tmp_path: Path, tilelang_python: Path
) -> None:
    client.initialize(trusted=True, interpreter=str(tilelang_python))
    uri = client.open(tmp_path / "kernels.py", TILELANG)
    client.wait_ready(uri)

    def offered(line: int, context: dict[str, Any]) -> list[str]:
        at = {"line": line, "character": 0}
        params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}}
        found = client.request("textDocument/codeAction", params | {"context": context})
        return [action["title"] for action in found]

    automatic = {"diagnostics": [], "triggerKind": 2}
    pipelined = TILELANG.splitlines().index(
        "            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):"
    )
    _wait_for_edits(client, uri, pipelined)
    bulbs = {line: offered(line, automatic) for line in range(TILELANG.count("\n"))}
    assert any("num_stages=3" in title for title in bulbs[pipelined])
    # Sizes of tiles, threads and stages are one edit, of these lines and none between.
    (sizes,) = bulbs[PARAMETERS]
    assert sizes.startswith("TIRLens: block_K=128, threads=256, num_stages=3, ")
    assert bulbs[LAUNCH] == [sizes] and sizes in bulbs[pipelined]
    assert {line for line, found in bulbs.items() if found} == {PARAMETERS, LAUNCH, pipelined}
    # Who asks gets everything.
    assert len(offered(pipelined + 1, {"diagnostics": [], "triggerKind": 1})) > 5
    assert len(offered(pipelined + 1, {"diagnostics": [], "triggerKind": "odd"})) > 5


def test_the_parts_of_a_lens_are_in_order_for_every_editor(
    client: Client, tmp_path: Path, tvm_python: Path
) -> None:
    """Neovim orders the lenses of a line by their columns."""
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "kernels.py", TVM)
    client.wait_ready(uri)
    found = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    places = [(one["range"]["start"]["line"], one["range"]["start"]["character"]) for one in found]
    assert places == sorted(set(places))


def test_tilelang_file(client: Client, tmp_path: Path, tilelang_python: Path) -> None:
    client.initialize(trusted=True, interpreter=str(tilelang_python), settings=WITH_SIZE)
    path = tmp_path / "kernels.py"
    path.write_text(TILELANG)
    uri = client.open(path)
    assert list(client.lenses(uri)) == [6]
    client.wait_ready(uri)
    titles = client.lenses(uri)[6]
    assert "4096x4096x4096 fp16" in titles
    hints = dict(client.hints(uri))
    assert "137 GFLOP" in hints[13]
    assert client.command("tirlens.calls", uri, None)["fixed"] is None
    hover = client.hover(uri, 16, 18)
    assert hover is not None
    assert "T.gemm" in hover.partition("\n")[0]
    assert "/#flop) | 137 GFLOP |" in hover
    report = client.command("tirlens.report", uri, None)
    assert report["json"]["kernels"][0]["flop"] == 2 * 4096**3
    assert "T.gemm(A_shared" in report["html"]
    calls = client.command("tirlens.calls", uri, None)
    assert calls["choices"][0] == {
        "directive": "matmul(4096, 4096, 4096)",
        "source": "call-site",
        "current": True,
    }
    kept = _actions(client, uri, 8)["TIRLens: Keep # tirlens: matmul(4096, 4096, 4096)"]
    edit = kept["edit"]["changes"][uri][0]
    assert edit["newText"].strip() == "# tirlens: matmul(4096, 4096, 4096)"
    lines = TILELANG.splitlines(keepends=True)
    lines.insert(edit["range"]["start"]["line"], edit["newText"])
    client.replace(uri, 2, "".join(lines))
    client.save(uri)
    client.wait_ready(uri, 2)
    assert client.diagnostics(uri) == []
    assert [
        item["call_source"] for item in client.command("tirlens.report", uri)["json"]["kernels"]
    ] == ["directive"]


def test_dynamic_dimensions_are_not_fixed(client: Client, tmp_path: Path, tvm_python: Path) -> None:
    client.initialize(trusted=True, interpreter=str(tvm_python))
    path = tmp_path / "dynamic.py"
    dynamic = """def scale(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")"""
    path.write_text(TVM.replace('def scale(A: T.Buffer((4096,), "float32")):', dynamic))
    uri = client.open(path)
    client.wait_ready(uri)
    calls = client.command("tirlens.calls", uri, "scale")
    assert calls["fixed"] is None
    assert calls["choices"][0]["directive"].startswith("n=")


def test_advice_is_written_where_the_text_is_now(
    client: Client, tmp_path: Path, tilelang_python: Path
) -> None:
    client.initialize(trusted=True, interpreter=str(tilelang_python))
    path = tmp_path / "kernels.py"
    path.write_text(TILELANG)
    uri = client.open(path)
    client.wait_ready(uri)
    edits = _wait_for_edits(client, uri, 13)
    assert any(title.startswith("TIRLens: num_stages=3, ") for title in edits)
    # A line more above: the edit goes along.
    client.edit(uri, 2, _insert(0, "# \U0001d54f\n"))
    title, action = next(
        item for item in _actions(client, uri, 13).items() if ": num_stages=3, " in item[0]
    )
    assert title in edits
    (change,) = action["edit"]["changes"][uri]
    start, end = change["range"]["start"], change["range"]["end"]
    line = ("#\n" + TILELANG).split("\n")[start["line"]]
    assert line[start["character"] : end["character"]] == "2"
    assert line[: start["character"]].endswith("num_stages=")
    # Where that line has changed there is nothing to be written any more.
    client.edit(uri, 3, {"range": change["range"], "text": change["newText"]})
    assert not any("num_stages=" in title for title in _actions(client, uri, 13))
    client.save(uri)
    client.wait_ready(uri, 2)
    assert not any("num_stages=" in title for title in _actions(client, uri, 13))
    assert _actions(client, uri, 0) == {}


@pytest.mark.parametrize(
    ("text", "line", "kind"),
    [
        ("def broken(:\n    pass\n", 0, "syntax"),
        ("# tirlens: M = = 3\n" + TVM, 0, "directive"),
        ("import no_such_module_here\n" + TVM, 0, "import"),
        (TVM.replace("T.serial(512)", "T.nothing(512)"), None, "trace"),
        (TVM + "\nwhile True:\n    pass\n", None, "timeout"),
    ],
    ids=["syntax", "directive", "import", "trace", "endless-loop"],
)
def test_bad_file_has_one_diagnostic(
    client: Client, tmp_path: Path, tvm_python: Path, text: str, line: int | None, kind: str
) -> None:
    settings = {"timeout": 3, **WITH_SIZE}
    client.initialize(trusted=True, interpreter=str(tvm_python), settings=settings)
    path = tmp_path / "kernels.py"
    path.write_text(text)
    uri = client.open(path)
    client.wait_ready(uri)
    found = [item for item in client.diagnostics(uri) if item["severity"] < 4]
    assert [item["code"] for item in found] == [kind]
    if line is not None:
        assert found[0]["range"]["start"]["line"] == line
    statuses = [params for method, params in client.notifications if method == "tirlens/status"]
    assert statuses[-1]["device"] == "h100-sxm", "said for a file with errors too"
    # The server is well, and the next text is analysed.
    client.replace(uri, 2, TVM)
    client.save(uri)
    client.wait_ready(uri, 2)
    assert "1024x512 fp32" in client.lenses(uri)[4]
    assert client.diagnostics(uri) == []


def test_untrusted_shows_the_static_part_until_trust_is_granted(
    client: Client, tmp_path: Path, tvm_python: Path
) -> None:
    client.initialize(interpreter=str(tvm_python), settings=WITH_SIZE)
    path = tmp_path / "kernels.py"
    proof = tmp_path / "was_run"
    path.write_text(f"open({str(proof)!r}, 'w').close()\n" + TVM)
    uri = client.open(path)
    assert client.lenses(uri)[5] == ["untrusted: analysis needs to run this file"]
    client.save(uri)
    client.wait(lambda: client.states(uri).count("untrusted") == 2)
    assert client.hints(uri) == []
    assert not proof.exists()
    client.notify("workspace/didChangeConfiguration", {"settings": {"trusted": True}})
    client.wait_ready(uri)
    assert "1024x512 fp32" in client.lenses(uri)[5]


@pytest.mark.parametrize(
    ("setting", "directive", "named"),
    [("l40s", "", "l40s"), ("l40s", "# tirlens: device=a10\n", "a10"), (None, "", "")],
)
def test_a_first_analysis_under_way_says_the_device_that_is_named(
    client: Client,
    tmp_path: Path,
    tvm_python: Path,
    setting: str | None,
    directive: str,
    named: str,
) -> None:
    settings = {"device": setting} if setting else {}
    client.initialize(trusted=True, interpreter=str(tvm_python), settings=settings)
    uri = client.open(tmp_path / "kernels.py", directive + TVM)
    client.wait_ready(uri)
    analysing, ready = [
        params["device"]
        for method, params in client.notifications
        if method == "tirlens/status" and params["state"] in ("analyzing", "ready")
    ][:2]
    # Without a name the kernel's own target may decide.
    assert (analysing, ready) == (named, named or "h100-sxm")


def test_closed_file_is_published_no_more(client: Client, tmp_path: Path, tvm_python: Path) -> None:
    client.initialize(trusted=True, interpreter=str(tvm_python))
    path = tmp_path / "kernels.py"
    path.write_text(TVM)
    uri = client.open(path)
    client.wait(lambda: "analyzing" in client.states(uri))
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.open(tmp_path / "other.py", TVM)
    client.wait_ready((tmp_path / "other.py").as_uri())
    assert "ready" not in client.states(uri)
    assert client.diagnostics(uri) == []


def test_cancelled_analysis_ends_and_says_so(
    client: Client, tmp_path: Path, tvm_python: Path
) -> None:
    client.initialize(trusted=True, interpreter=str(tvm_python), settings=WITH_SIZE)
    uri = client.open(tmp_path / "kernels.py", TVM + "\nwhile True:\n    pass\n")
    client.wait(lambda: _progress(client) != [], 30)
    client.notify("window/workDoneProgress/cancel", {"token": _progress(client)[0]["token"]})
    client.wait(lambda: "idle" in client.states(uri))
    assert client.lenses(uri)[4] == ["cancelled: click to analyse"]
    assert [item["value"]["kind"] for item in _progress(client)][-1] == "end"
    # The worker is free again at once.
    client.replace(uri, 2, TVM)
    client.save(uri)
    client.wait_ready(uri)
    assert "1024x512 fp32" in client.lenses(uri)[4]


def _progress(client: Client) -> list[dict[str, Any]]:
    return [params for method, params in client.notifications if method == "$/progress"]


def test_a_setting_that_the_worker_does_not_hear_of_lets_the_analysis_go_on(
    client: Client, tmp_path: Path, tvm_python: Path
) -> None:
    runs, go_on = tmp_path / "runs", tmp_path / "go-on"
    text = (
        f"import os, time\nf = open({str(runs)!r}, 'a').write('x')\n"
        f"while not os.path.exists({str(go_on)!r}): time.sleep(0.01)\n"
    )
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "a.py", text + kernel(1024))
    client.wait(lambda: runs.exists(), 60)
    settings = {"settings": {"tirlens": {"advice": False, "minPercentage": 5}}}
    client.notify("workspace/didChangeConfiguration", settings)
    client.save(uri)
    client.lenses(uri)  # Both have been heard.
    go_on.touch()
    client.wait_ready(uri)
    assert runs.read_text() == "x", "one run for the opening, the settings and the save"
    # To analyse anew is to run anew.
    client.command("tirlens.reanalyze", uri)
    client.wait_ready(uri, 2)
    assert runs.read_text() == "xx"


@pytest.mark.parametrize(("settings", "sizes"), [({}, []), (WITH_SIZE, ["4096x4096x4096 fp16"])])
def test_what_is_assumed_is_marked_and_written_for_the_user(
    client: Client,
    tmp_path: Path,
    tilelang_python: Path,
    settings: dict[str, Any],
    sizes: list[str],
) -> None:
    client.initialize(trusted=True, interpreter=str(tilelang_python), settings=settings)
    text = TILELANG.partition("\n\nkernel = ")[0] + "\n"
    uri = client.open(tmp_path / "kernels.py", text)
    client.wait_ready(uri)
    assert client.lenses(uri)[6][-2] == "4096?x4096?x4096? fp16"
    directive = "# tirlens: matmul(4096, 4096, 4096)"
    title = f"TIRLens: Write the assumed arguments: {directive}"
    (edit,) = _actions(client, uri, 8)[title]["edit"]["changes"][uri]
    assert edit["newText"].strip() == directive
    client.edit(uri, 2, {"range": edit["range"], "text": edit["newText"]})
    client.save(uri)
    client.wait_ready(uri, 2)
    assert [title for title in client.lenses(uri)[7] if "4096" in title] == sizes
    # One undo away.
    line = edit["range"]["start"]["line"]
    written = {"start": edit["range"]["start"], "end": {"line": line + 1, "character": 0}}
    client.edit(uri, 3, {"range": written, "text": ""})
    client.save(uri)
    client.wait_ready(uri, 3)
    assert client.lenses(uri)[6][-2] == "4096?x4096?x4096? fp16"


def test_a_lens_has_the_change_since_the_last_save(tvm_python: Path, tmp_path: Path) -> None:
    with Client() as client:
        client.initialize(trusted=True, interpreter=str(tvm_python))
        uri = client.open(tmp_path / "a.py", TVM)
        client.wait_ready(uri)

        def titles() -> list[str]:
            return [" | ".join(parts) for _, parts in sorted(client.lenses(uri).items())]

        def save(version: int, text: str) -> None:
            ready = client.states(uri).count("ready")
            client.replace(uri, version, text)
            client.save(uri)
            client.wait_ready(uri, ready + 1)

        assert not any("%)" in title for title in titles())
        shorter = TVM.replace("T.serial(512)", "T.serial(128)")
        save(2, shorter)
        gemm, scale = titles()
        assert re.search(r"s \(-\d\d%\) \|", gemm)
        assert "%)" not in scale
        save(3, shorter + "# The same kernels\n")
        assert not any("%)" in title for title in titles())
        save(4, TVM)
        assert re.search(r"s \(\+\d+%\) \|", titles()[0])

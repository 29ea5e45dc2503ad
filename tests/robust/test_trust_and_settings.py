"""Requirements 15, 18 and 20: trust, two interpreters in one window, odd settings."""

from __future__ import annotations

import hashlib
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from robust.conftest import Start
from support.robust import amount, kernel, marked, workers
from support.rpc import Client, RpcError
from tirlens.settings import Settings

ODD: list[Any] = [
    None, True, False, 0, -1, 1.5, float("inf"), float("nan"), 10**400, "", "no", "\0", "/nowhere",
    [], {}, [1], ["a(1)"], {"M": "x"}, {"M": True}, {"M": 4}, {"": None}, [[]], "h100-sxm", "💥",
    101,
]  # fmt: skip
NAMES = ["device", "python", "calls", "bindings", "timeout", "minPercentage", "advice",
         "inlayHints", "code-lens", "nonsense", ""]  # fmt: skip


def test_20_any_settings_are_read_and_what_is_wrong_is_said() -> None:
    source = random.Random(20)
    for _ in range(amount(3000, 100_000)):
        given = {name: source.choice(ODD) for name in source.sample(NAMES, 4)}
        found, problems = Settings.from_mapping(given)
        assert all(isinstance(text, str) and text for text in problems)
        assert found.timeout_s is None or 0 < found.timeout_s < float("inf")
        assert found.min_percentage is None or 0 <= found.min_percentage <= 100
        assert found.advice in (None, True, False)
        wrong = {name for name in given if any(repr(name) in text for text in problems)}
        assert {"nonsense"} & set(given) <= wrong
        for name in set(given) - wrong:
            alone, none = Settings.from_mapping({name: given[name]})
            assert none == ()
            assert found == found.merge(alone)


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [
        ("timeout", 0, "above 0"),
        ("bindings", {"M": -5}, "none below 0"),
        ("calls", ["matmul(1)", "matmul("], "'matmul(' is no call"),
        ("show", "some", "one of all, hottest, marked, off"),
        ("hintColumns", 0, "above 0"),
    ],
)
def test_20_a_setting_that_would_have_no_effect_is_refused(
    key: str, value: object, word: str
) -> None:
    found, problems = Settings.from_mapping({key: value})
    assert found == Settings()
    assert word in " ".join(problems)


def test_20_a_project_file_of_another_encoding_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"\xff")
    _, (problem,) = Settings.from_pyproject(tmp_path)
    assert problem == f"{tmp_path / 'pyproject.toml'}: is not UTF-8: invalid start byte"


@pytest.mark.slow
def test_20_what_is_wrong_with_a_projects_settings_is_told_once(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text("[tool.tirlens]\ndevise = 'a30'\n", encoding="utf-8")
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python), settings={})
    uri = client.open(tmp_path / "a.py", kernel(1024))
    client.wait_ready(uri)
    client.save(uri)
    client.wait_ready(uri, 2)
    client.wait_ready(client.open(tmp_path / "b.py", kernel(1024)))
    said = [p["message"] for name, p in client.notifications if name == "window/logMessage"]
    assert said == [f"{project}: unknown setting 'devise'; did you mean device?"]


@pytest.mark.slow
def test_20_odd_settings_are_reported_and_the_analysis_goes_on(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    client = start()
    settings = {"timeout": "soon", "calls": 3, "devise": "h100", "bindings": {"M": "many"}}
    client.initialize(trusted=True, interpreter=str(tvm_python), settings=settings)
    uri = client.open(tmp_path / "a.py", kernel(1024))
    client.wait_ready(uri)
    said = [p["message"] for name, p in client.notifications if name == "window/logMessage"]
    assert len(said) == 4
    assert any("devise" in text and "did you mean device" in text for text in said)
    assert "stale" not in str(client.lenses(uri))
    assert client.lenses(uri)[4][-1] == "h100-sxm"
    # A change applies without a restart; each odd form of it is survived.
    for odd in (None, [], 3, {"tirlens": 3}, {"tirlens": {"python": "\0", "device": "\0"}}):
        client.notify("workspace/didChangeConfiguration", {"settings": odd})
    for value in ODD[:6] + ODD[8:]:
        everything = dict.fromkeys(NAMES, value)
        everything["timeout"] = 5 if value in (0, 10**400) else value
        params = {"settings": {"tirlens": everything}}
        client.notify("workspace/didChangeConfiguration", params)
        assert client.command("tirlens.devices")
    params = {"settings": {"tirlens": {"device": "a100-80-sxm"}}}
    client.notify("workspace/didChangeConfiguration", params)
    client.wait(lambda: _device(client, uri) == "a100-80-sxm", 30)


def _device(client: Client, uri: str) -> str | None:
    found = [p for name, p in client.notifications if name == "tirlens/status" and p["uri"] == uri]
    return found[-1]["device"] if found[-1]["state"] == "ready" else None


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [None, False, 1, "true", [], {"trusted": True}, "absent"])
def test_15_what_is_not_true_is_not_trusted(
    start: Start, mark: dict[str, str], tmp_path: Path, tvm_python: Path, trusted: object
) -> None:
    proof = tmp_path / "was_run"
    options = {} if trusted == "absent" else {"trusted": trusted}
    client = start()
    client.initialize(interpreter=str(tvm_python), **options)
    text = f"open({str(proof)!r}, 'w').close()\n" + kernel(1024)
    uri = client.open(tmp_path / "a.py", text)
    # Nothing that a client can ask for gets around it.
    client.save(uri)
    client.command("tirlens.reanalyze", uri)
    client.command("tirlens.setCall", uri, "scale", "scale()")
    client.command("tirlens.setDevice", None, "a100-80-sxm")
    client.notify("workspace/didChangeConfiguration", {"settings": {"tirlens": {"timeout": 3}}})
    client.notify("workspace/didChangeConfiguration", {"settings": {"trusted": "yes"}})
    assert client.lenses(uri)[5] == ["untrusted: analysis needs to run this file"]
    client.wait(lambda: client.states(uri).count("untrusted") >= 5)
    assert set(client.states(uri)) == {"untrusted"}
    assert workers(mark) == []
    assert len(marked(mark)) == 1, "the server alone"
    assert not proof.exists()


@pytest.mark.slow
def test_15_the_editor_decides_whether_opening_a_file_runs_it(
    start: Start, mark: dict[str, str], tmp_path: Path, tvm_python: Path
) -> None:
    # The project's file does not.
    (tmp_path / "pyproject.toml").write_text("[tool.tirlens]\nanalyze-on-open = true\n")
    client = start()
    settings = {"analyzeOnOpen": False}
    client.initialize(trusted=True, interpreter=str(tvm_python), settings=settings)
    uri = client.open(tmp_path / "a.py", kernel(1024))
    assert client.lenses(uri)[4] == ["not analysed yet: save, or click to analyse"]
    # Another device is no reason to run it.
    client.command("tirlens.setDevice", None, "a100-80-sxm")
    client.wait(lambda: client.states(uri).count("idle") >= 2)
    assert workers(mark) == []
    client.save(uri)
    client.wait_ready(uri)
    assert client.lenses(uri)[4][-1] == "a100-80-sxm"


@pytest.mark.slow
def test_15_trust_by_the_command_line(start: Start, tmp_path: Path, tvm_python: Path) -> None:
    client = start("--trust-workspace")
    client.initialize(interpreter=str(tvm_python))
    uri = client.open(tmp_path / "a.py", kernel(1024))
    client.wait_ready(uri)
    assert "untrusted" not in client.states(uri)


TILELANG = """\
import tilelang
import tilelang.language as T


@T.prim_func
def fill(A: T.Tensor((4096,), "float32")):
    with T.Kernel(32, threads=128) as bx:
        for i in T.Parallel(128):
            A[bx * 128 + i] = T.float32(1)
"""


@pytest.mark.slow
def test_18_two_folders_with_two_interpreters_in_one_window(
    start: Start, mark: dict[str, str], tmp_path: Path, tvm_python: Path, tilelang_python: Path
) -> None:
    client = start()
    client.initialize(trusted=True)
    uris = []
    for name, python, text in (
        ("tvm", tvm_python, kernel(1024)),
        ("tilelang", tilelang_python, TILELANG),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "pyproject.toml").write_text(f'[tool.tirlens]\npython = "{python}"\n')
        uris.append(client.open(folder / "a.py", text))
    for uri in uris:
        client.wait_ready(uri)
        assert client.diagnostics(uri) == []
        assert len(client.command("tirlens.report", uri)["json"]["kernels"]) == 1
    assert len(workers(mark)) == 2
    status = {p["uri"]: p for name, p in client.notifications if name == "tirlens/status"}
    assert [status[uri]["interpreter"] for uri in uris] == [str(tvm_python), str(tilelang_python)]
    assert all(status[uri]["interpreter_why"] == "the setting" for uri in uris)


@pytest.mark.slow
def test_18_a_file_that_an_interpreter_does_not_suit_leaves_the_others_alone(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    suited = client.open(tmp_path / "suited.py", kernel(1024))
    client.wait_ready(suited)
    for number in range(1, 6):
        # The one that is not suited comes while the other is waited for.
        other = client.open(tmp_path / f"{number}.py", TILELANG)
        client.replace(suited, 1 + number, kernel(1024 * (1 + number)))
        client.save(suited)
        client.save(other)
        client.wait_ready(suited, 1 + number)
        client.wait(lambda other=other: client.diagnostics(other) != [], 60)
        assert client.diagnostics(suited) == []
        (told,) = client.diagnostics(other)
        assert "needs tilelang" in told["message"]


@pytest.mark.parametrize("text", ["tool = 3", "tool = []", "[tool]\ntirlens = 3"])
def test_20_a_table_that_is_none_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    found, problems = Settings.from_pyproject(tmp_path)
    assert found == Settings()
    assert len(problems) == 1 and "must be a table" in problems[0]


@pytest.mark.slow
def test_20_files_that_cannot_be_read_are_named_at_their_place(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    pipe, digits, base = (tmp_path / name for name in ("pipe.toml", "digits.toml", "base.toml"))
    os.mkfifo(pipe)
    digits.write_text("bindings = " + "1" * 5000)
    base.write_text('extends = "./pipe.toml"\n')
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    odd = {
        client.open(
            tmp_path / f"{path.stem}.py", f"# tirlens: device={path}\n" + kernel(1024)
        ): path
        for path in (pipe, digits, base)
    }
    (tmp_path / "project").mkdir()
    os.mkfifo(tmp_path / "project" / "pyproject.toml")
    good = [client.open(tmp_path / folder / "good.py", kernel(1024)) for folder in ("", "project")]
    for uri in (*odd, *good):
        client.wait_ready(uri)
    for uri, path in odd.items():
        (problem,) = client.diagnostics(uri)
        assert str(path) in problem["message"]
        assert problem["range"]["start"]["line"] == 0
    for uri in good:
        assert client.diagnostics(uri) == []
        assert client.hints(uri)
    (said,) = [p["message"] for name, p in client.notifications if name == "window/logMessage"]
    assert said == f"{tmp_path / 'project' / 'pyproject.toml'}: is no regular file"
    with pytest.raises(RpcError, match="is no regular file"):
        client.command("tirlens.setDevice", good[0], str(pipe))


_KERNEL = kernel(1024)
_HUGE = "0x" + "1" * 100_000
HUGE: dict[str, tuple[str, dict[str, Any], str]] = {
    "a time limit": (_KERNEL, {"timeout": 1e10}, "above 0 and at most 86,400"),
    "a size in a directive": (f"# tirlens: M={_HUGE}\n{_KERNEL}", {}, "below 2^63"),
    "digits in a directive": (f"# tirlens: M={'1' * 100_000}\n{_KERNEL}", {}, "below 2^63"),
    "powers": (f"# tirlens: M={'(' * 9}9{'**64)' * 9}\n{_KERNEL}", {}, "below 2^63"),
    "a budget": (f"# tirlens: max-time={'9' * 400}us\n{_KERNEL}", {}, "is no budget"),
    "a size in the settings": (_KERNEL, {"bindings": {"M": 10**400}}, "none below 0 or from 2^63"),
    "a constant": (f"{_KERNEL}\nN = {_HUGE}\nscale(N)\n", {}, ""),
    "digits": (f"{_KERNEL}\nN = {'1' * 100_000}\n", {}, "Exceeds the limit"),
    "signs": (f"{_KERNEL}\nN = {'-' * 100_000}1\n", {}, "nested too deeply"),
    "sums": (f"{_KERNEL}\nN = 1{'+1' * 100_000}\n", {}, "nested too deeply"),
    "lines": (f"{_KERNEL}\n" + "x = 1\n" * 700_000, {}, "longer than 100,000 lines"),
    "statements": (f"{_KERNEL}\n" + "x = 1;" * 150_000, {}, "longer than 100,000 lines"),
    "megabytes": (f"{_KERNEL}\n" + f"#{'x' * 99}\n" * 117_000, {}, "than 2 MiB"),
    "one line": (f"{_KERNEL}\nx = '{'x' * 11_700_000}'", {}, "than 2 MiB"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "settings", "expected"), HUGE.values(), ids=HUGE)
def test_20_numbers_and_files_that_are_too_large_are_named(
    start: Start,
    tmp_path: Path,
    tvm_python: Path,
    text: str,
    settings: dict[str, Any],
    expected: str,
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python), settings=settings)
    uri = client.open(tmp_path / "a.py", text)
    client.wait_ready(uri)
    said = [p["message"] for name, p in client.notifications if name == "window/logMessage"]
    said += [found["message"] for found in client.diagnostics(uri)]
    assert any(expected in message for message in said) or (not expected and not said)
    assert all(len(message) < 1000 for message in said)
    assert "Traceback" not in client.stderr.decode()
    assert "analysing" not in str(client.lenses(uri))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_20_a_report_that_cannot_be_written_is_a_message(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    folder = tmp_path / "cache" / "tirlens" / "reports"
    folder.mkdir(parents=True)
    client = start(XDG_CACHE_HOME=str(tmp_path / "cache"))
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "a.py", _KERNEL)
    client.wait_ready(uri)
    name = hashlib.sha256(uri.encode()).hexdigest()[:16]
    (folder / f"{name}.html").symlink_to("/dev/full")
    assert client.command("tirlens.showReport", uri, None) is None
    messages = "window/showMessage"
    client.wait(lambda: messages in [method for method, _ in client.notifications])
    (said,) = [p["message"] for method, p in client.notifications if method == messages]
    assert "No space left on device" in said


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [False, True])
def test_15_what_the_documentation_says_of_trust(
    start: Start, tmp_path: Path, tvm_python: Path, trusted: bool
) -> None:
    """Opening is enough, directives are code, files can be read."""
    secret, proof = tmp_path / "secret", tmp_path / "proof"
    secret.write_text("of the file")
    reading = f"open({str(secret)!r}).read()"
    writing = f"open({str(proof)!r}, 'w').write({reading})"
    text = f"# tirlens: make({writing})\n" + FACTORY
    client = start()
    client.initialize(trusted=trusted, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "a.py", text)
    if trusted:
        client.wait_ready(uri)
        assert proof.read_text() == "of the file"
    else:
        client.wait(lambda: "untrusted" in client.states(uri))
        assert client.lenses(uri)
        time.sleep(0.5)
        assert not proof.exists()


FACTORY = """
from tvm.script import tirx as T

def make(size):
    @T.prim_func
    def scale(A: T.Buffer((1024,), "float32")):
        for i in T.thread_binding(1024, thread="threadIdx.x"):
            A[i] = A[i] * T.float32(2)

    return scale
"""

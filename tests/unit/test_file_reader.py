"""Files of every odd kind are refused with a word, and nothing else opens files to read them."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tirlens import file_reader
from tirlens.file_reader import FileRefusedError, digest_of, read_bytes, read_text

SERVER = Path(__file__).parents[2] / "server/tirlens"
# Functions that open files, and where they are used: these write, or open what is their own.
OPENING = {"open", "fdopen", "read_text", "read_bytes"}
OTHER_USES = {
    ("file_reader.py", "open"),
    ("file_writer.py", "open"),
    ("file_writer.py", "fdopen"),
    # Streams of a process: the daemon's caller, the pipes of the search, /dev/null.
    ("cli/warm/server.py", "open"),
    ("cli/output.py", "open"),
    ("lsp/serve.py", "open"),
    ("lsp/serve.py", "fdopen"),
    ("repository/search_process.py", "fdopen"),
    ("repository/search_process.py", "open"),
    ("tools/json_lines.py", "fdopen"),
    # Documents of an editor.
    ("lsp/handlers.py", "open"),
    # Written beside and renamed.
    ("pipeline/result_store.py", "fdopen"),
    # Appended to, in TIRLens's own cache.
    ("tuning/store.py", "open"),
}
READS = {
    "read_bytes": read_bytes,
    "read_text": read_text,
    "digest_of": lambda path: digest_of(path, file_reader.MAX_BYTES),
}
ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a named pipe": (lambda path: os.mkfifo(path), "is no regular file"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "is no regular file"),
    "a folder": (lambda path: path.mkdir(), "is no regular file"),
    "a terminal": (lambda path: path.symlink_to("/dev/tty"), "is no regular file"),
    "a sparse file": (
        lambda path: (path.touch(), os.truncate(path, 1 << 40)),
        "is larger than 16 MiB",
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes and devices")
@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize(("make", "expected"), ODD.values(), ids=ODD)
def test_an_odd_file(
    read: Callable[[Path], object],
    make: Callable[[Path], object],
    expected: str,
    tmp_path: Path,
) -> None:
    path = tmp_path / "odd"
    make(path)
    began_s = time.monotonic()
    with pytest.raises(FileRefusedError) as caught:
        read(path)
    assert caught.value.strerror == expected
    assert time.monotonic() - began_s < 2.0


def test_a_file_that_grows_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"a\r\nb\rc")
    assert read_text(path, 6) == "a\nb\nc"
    assert digest_of(path, 6) == hashlib.sha256(b"a\r\nb\rc").hexdigest()
    with pytest.raises(FileRefusedError, match="is larger than 5 bytes"):
        read_bytes(path, 5)


def test_a_file_that_becomes_a_pipe_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    regular = (tmp_path / "file").write_text("") or (tmp_path / "file").stat()
    monkeypatch.setattr(Path, "stat", lambda self, **_: regular)
    with pytest.raises(FileRefusedError, match="is no regular file"):
        read_bytes(path)


def test_a_file_system_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "far"
    calls: list[Path] = []

    def stat(self: Path, **_: object) -> os.stat_result:
        calls.append(self)
        time.sleep(1.0)
        raise OSError

    monkeypatch.setattr(Path, "stat", stat)
    for _ in range(3):
        began_s = time.monotonic()
        with pytest.raises(FileRefusedError, match=r"was not read within 0\.05 s"):
            read_bytes(path, limit_s=0.05)
        assert time.monotonic() - began_s < 0.5
    # While one waits, no other is started.
    assert len(calls) == 1


def test_nothing_else_opens_files() -> None:
    found = {
        (path.relative_to(SERVER).as_posix(), name)
        for path in SERVER.rglob("*.py")
        # Most modules have none of the words, and to parse all of them takes seconds.
        if _WORDS.search(text := path.read_text("utf-8"))
        for name in _opening(ast.parse(text))
    }
    assert found - OTHER_USES == set()
    assert OTHER_USES - found == set()


_WORDS = re.compile(rf"\b({'|'.join(OPENING)})\b")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _opening(tree: ast.Module) -> Iterator[str]:
    """The functions that open files and are called, but for those of the program itself."""
    own = {
        item.asname or item.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tirlens.")
        for item in node.names
    } | {node.name for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in OPENING - own:
            yield node.func.id
        elif isinstance(node.func, ast.Attribute) and node.func.attr in OPENING:
            is_reader = isinstance(node.func.value, ast.Name) and (
                node.func.value.id == "file_reader"
            )
            if not is_reader:
                yield node.func.attr

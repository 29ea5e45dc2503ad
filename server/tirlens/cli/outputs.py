"""Files that options name for results: never an input, nor a file that is not a result itself."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import platformdirs

from tirlens import file_writer
from tirlens.cli.errors import UsageError
from tirlens.cli.option_parser import STANDARD_OUTPUT
from tirlens.file_reader import digest_of, read_bytes

_MAX_BYTES = 1 << 30
_HEAD_BYTES = 8192
OPTIONS = ("output", "html", "csv", "summary_file", "write", "bundle")
"""The options that name files for results."""
# What a file of each kind begins with. A file that was written on this machine is known by its
# content, too: `_record_of`.
_SIGNATURES = {
    "capture": re.compile(r'\{"schema_version": \d+,\n "device": "'),
    "device": re.compile(r'(# .*\n)*extends = "(.|\n)*measured on this machine, '),
    "result": re.compile(
        r'\{\s*"schema_version": \d+,\s*"(device": \{|variants": \[|measured": \{|residuals": \[)'
        r'|\{\s*"\$schema": "https://json.schemastore.org/sarif-(.|\n)*"name": "(?i:tirlens)"'
        r"|<!DOCTYPE html>(.|\n)*<title>TIRLens: "
        r"|file,kernel,call,device,id,depth,line,"
        r"|operation,kind,grid,block,arguments,relation,"
        r"|kernel,device,executions,measured_s,"
        r'|\{\s*"tirlens_residual_bundle": '
        r"|ID,Total %,Bound,OP Code,Device Time,|Total % \[%\],Op Code,"
        r"|\*\*TIRLens:\*\* |## .+\n\n`[^`\n]+:\d+`\n\n\*\*"
        r"| ?kernel +(device +call|time +band) +"
        r"|\S.*  \S.*:\d+\n  \S.* \| "
    ),
}


def check_arguments(arguments: argparse.Namespace) -> None:
    """Check the files that a command's options name for results, before it does anything.

    Raises:
        UsageError: one is an input, another file of the user, or named twice.
    """
    kind = kind_of(arguments.command)
    seen: list[Path] = []
    for option in OPTIONS:
        named = getattr(arguments, option, None) or ()
        for name in [named] if isinstance(named, str) else named:
            if name == STANDARD_OUTPUT:
                continue
            path = Path(name)
            for other in seen:
                if _is_same(path, other) and not file_writer.is_stream(path):
                    raise UsageError(f"--{option} {name}: two results would be in one file")
            seen.append(path)
            for given in _inputs(arguments):
                if _is_same(path, given) or (given.is_dir() and _is_source(path, given)):
                    raise UsageError(f"--{option} {name}: this is a file that the command reads")
            check(path, kind, f"--{option.replace('_', '-')} {name}")


def check(path: Path, kind: str, name: str) -> None:
    """Check that a result of `kind` may be written to `path`.

    Raises:
        UsageError: `path` is a file that is no earlier result of this kind; begins with `name`.
    """
    if not path.exists() or file_writer.is_stream(path):
        return
    try:
        if path.stat().st_size == 0 or _is_recorded(path, kind) or _has_signature(path, kind):
            return
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{name}: cannot be replaced: {why}") from error
    raise UsageError(
        f"{name}: this file was not written by this command; name another one, or remove it"
    )


def record(path: Path, kind: str) -> None:
    """Note that `path` has a result, which a later one may replace."""
    with contextlib.suppress(OSError):
        if not file_writer.is_stream(path):
            place = _record_of(path)
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file_writer.replace_text(place, f"{kind} {digest_of(path, _MAX_BYTES)}")


def kind_of(command: str) -> str:
    """The kind of a command's results."""
    return {"capture": "capture", "calibrate": "device"}.get(command, "result")


def _inputs(arguments: argparse.Namespace) -> Iterator[Path]:
    """The files and folders that a command reads, as far as its options name them."""
    if arguments.command == "capture":
        # What it records is added to the file that it reads.
        return
    for option in ("files", "file", "device", "id", "append", "measured", "measured_base"):
        named = getattr(arguments, option, None) or ()
        names: Iterable[str] = [named] if isinstance(named, str) else named
        yield from map(Path, names)


def _is_source(path: Path, folder: Path) -> bool:
    """Whether `path` is a Python file below a folder that is analysed."""
    resolved = path.resolve()
    return resolved.suffix in (".py", ".ipynb") and folder.resolve() in resolved.parents


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return path.resolve() == other.resolve()


def _has_signature(path: Path, kind: str) -> bool:
    # Files are read within a limit; a result may be larger.
    size = path.stat().st_size
    content = read_bytes(path, min(size, _MAX_BYTES))[:_HEAD_BYTES]
    head = content.decode("utf-8", "replace").replace("\r\n", "\n")
    return _SIGNATURES[kind].match(head) is not None


def _is_recorded(path: Path, kind: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        known = read_bytes(_record_of(path), 1024).decode("utf-8")
        return known == f"{kind} {digest_of(path, _MAX_BYTES)}"
    return False


def _record_of(path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
    return platformdirs.user_cache_path("tirlens") / "outputs" / name

"""Devices by id, alias, framework target, or the path of a user's own file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tirlens.file_reader import read_text
from tirlens.hardware.reader import read_device
from tirlens.hardware.spec import Device
from tirlens.hardware.toml_file import DeviceError
from tirlens.toml_reader import TomlError, read_in_time, tomllib

DATA = Path(__file__).parent / "data"
DEFAULT_DEVICE = "h100-sxm"


@cache
def catalogue() -> tuple[str, ...]:
    """The ids of the devices that come with the package, sorted."""
    return tuple(sorted(path.stem for path in DATA.glob("*.toml")))


@cache
def _load_by_id(identifier: str) -> Device:
    return read_device(DATA / f"{identifier}.toml", _file_of)


@cache
def _headers() -> Mapping[str, Mapping[str, Any]]:
    """The keys of each device's file before its first table: names, not numbers.

    Reading all files in full takes a quarter of a second, their heads a tenth of that.
    """
    return {
        identifier: tomllib.loads(
            read_text(DATA / f"{identifier}.toml", limit_s=None).partition("\n[")[0]
        )
        for identifier in catalogue()
    }


@cache
def aliases() -> Mapping[str, str]:
    """Other names of the devices, in lower case, with the id of each."""
    return {
        alias.lower(): identifier
        for identifier, header in _headers().items()
        for alias in header.get("aliases", ())
    }


def load(id_or_path: str | Path) -> Device:
    """The device of an id, of another of its names (``h100``, ``sm_90``) or of a TOML file.

    Raises `DeviceError` when there is none, with similar names, or when a file of the
    user's own is wrong.
    """
    text = str(id_or_path)
    if _is_path(text):
        path = _expand(text)
        try:
            return read_in_time(lambda: read_device(path, _file_of), str(path))
        except TomlError as error:
            raise DeviceError(str(error)) from error
    return _load_by_id(_identifier(text))


def _file_of(name: str, path: Path) -> Path:
    """The file that a device file at `path` extends: a device's name, or a path from there."""
    if _is_path(name):
        return path.parent / _expand(name)
    return DATA / f"{_identifier(name)}.toml"


def _expand(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        # There is no such user.
        raise DeviceError(f"{text:.200}: cannot be read: {error}") from error


def _is_path(text: str) -> bool:
    return text.endswith(".toml") or "/" in text or "\\" in text


def _identifier(text: str) -> str:
    name = text.strip().lower().replace("_", "-")
    for candidate in (name, text.strip().lower()):
        if candidate in catalogue():
            return candidate
        if candidate in aliases():
            return aliases()[candidate]
    near = _nearest(name)
    hint = f"; did you mean {' or '.join(near)}?" if near else "."
    raise DeviceError(
        f'"{text:.80}" is no known device{hint} Known are: {", ".join(catalogue())}; '
        "or give the path of a device file ending in .toml."
    )


def for_architecture(arch: str) -> Device | None:
    """The catalogue's device of an architecture (``sm_90a``, ``gfx942``), None without one."""
    base = arch.rstrip("af") if arch.startswith("sm_") else arch
    identifier = aliases().get(base)
    if identifier is not None:
        return _load_by_id(identifier)
    found = (name for name, known in architectures().items() if known == base)
    return next((_load_by_id(name) for name in found), None)


def architectures() -> Mapping[str, str]:
    """The architecture of each device of the catalogue, by id."""
    return {
        identifier: arch
        for identifier, header in _headers().items()
        if isinstance(arch := header.get("arch"), str)
    }


def _nearest(name: str) -> list[str]:
    starts = [identifier for identifier in catalogue() if identifier.startswith(name[:4])]
    return starts[:4]

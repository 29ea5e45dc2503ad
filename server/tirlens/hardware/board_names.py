"""The catalogue's entry of a board, from the name that a driver or a target gives it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tirlens.hardware.catalogue import aliases, catalogue, load
from tirlens.hardware.spec import Device

_FORMS = ("sxm", "pcie", "nvl")
# Words after a model's name that mean another chip or another clock.
_OTHER_BOARDS = frozenset({"ti", "super", "laptop", "mobile", "d", "max", "q", "ada", "3e"})
# Words of the names of Apple's GPUs that no entry has.
_APPLE_FILLERS = frozenset({"gpu", "restricted"})
# The size in the name of a superchip is that of its CPU's memory: "NVIDIA GH200 480GB".
_SUPERCHIPS = frozenset({"gh200", "gb200", "gb300"})


@dataclass(frozen=True)
class Board:
    """An entry of the catalogue; `is_exact` is False for one that a name only resembles."""

    device: Device
    is_exact: bool


def board_of(name: str, memory_bytes: int | None = None) -> Board | None:
    """The entry of the model in `name`, None without one.

    Of the boards of one model, the form (SXM, PCIe, NVL) and the memory decide, then the alias of
    the model in the catalogue: ``a100`` is the board of 80 GB.

    Parameters
    ----------
    name
        ``NVIDIA A100-SXM4-80GB``, ``geforce-rtx-3080``, ``Apple M2 Max``.
    memory_bytes
        The size of its memory, from its driver or its name.
    """
    words = _words(name)
    named = [identifier for identifier in catalogue() if _is_of_model(identifier, words)]
    if named:
        device = load(max(named, key=lambda identifier: _fit(identifier, words, memory_bytes)))
        return Board(device, not _OTHER_BOARDS & set(words) - set(device.id.split("-")))
    if "apple" in words:
        # The first word of an Apple chip's name does not identify the chip.
        return None
    alias = next((aliases()[word] for word in words if word in aliases()), None)
    return None if alias is None else Board(load(alias), False)


def describe_other_board(name: str, device: Device) -> str:
    """What is said of the board `name`, which the catalogue lacks, where `device` is used."""
    return (
        f"{name} is not in the catalogue: {device.id} of {device.arch} is used, "
        f"with {device.sm_count} SMs and {device.dram.bytes_per_s / 1e9:.4g} GB/s of DRAM"
    )


def memory_in_name(name: str) -> int | None:
    """The bytes of a board's memory that its name states: ``80GB``."""
    size = re.search(r"(?<![A-Za-z0-9])(\d+)\s?GB(?![A-Za-z0-9])", name, re.IGNORECASE)
    if size is None or _SUPERCHIPS & set(_words(name)):
        return None
    return int(size.group(1)) * 10**9


def _words(name: str) -> list[str]:
    """``NVIDIA A100-SXM4-80GB`` as ``nvidia a100 sxm 80``."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    words = [re.sub(r"^(sxm)\d+$", r"\1", word) for word in words]
    words = [re.sub(r"^(\d+)gb$", r"\1", word) for word in words if word]
    return [word for word in words if "apple" not in words or word not in _APPLE_FILLERS]


def _is_of_model(identifier: str, words: Sequence[str]) -> bool:
    """Whether a name contains the model of an entry, regardless of form and memory."""
    parts = identifier.split("-")
    if parts[0] == "apple":
        return list(words) == parts
    model = parts[:2] if parts[0] == "rtx" else parts[:1]
    return any(char.isdigit() for char in model[-1]) and all(part in words for part in model)


def _fit(
    identifier: str, words: Sequence[str], memory_bytes: int | None
) -> tuple[int, float, bool]:
    """How well an entry of the right model fits: by its form, its memory, its other names."""
    forms = [form for form in _FORMS if form in words] or ["sxm"]
    parts = _words(identifier)
    form = sum(part in forms for part in parts) - sum(part in _FORMS for part in parts)
    expected = load(identifier).dram.bytes
    memory = -abs(math.log(memory_bytes / expected)) if memory_bytes else 0.0
    return form, memory, any(aliases().get(word) == identifier for word in words)

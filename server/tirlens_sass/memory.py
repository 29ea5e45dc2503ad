"""Accesses of memory: the space, the direction and the bytes of one lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_BYTES = {
    **dict.fromkeys(("U8", "S8"), 1),
    **dict.fromkeys(("U16", "S16", "F16"), 2),
    **dict.fromkeys(("64", "U64", "S64", "F64"), 8),
    "128": 16,
    "256": 32,
}
_WORD = 4
# Opcode: space, direction.
_SPACES = {
    **dict.fromkeys(("LDG", "LD", "LDS", "LDL", "LDC", "ULDC", "LDCU", "LDSM", "LDTM"), "load"),
    **dict.fromkeys(("STG", "ST", "STS", "STL", "STSM", "STTM", "STAS"), "store"),
    **dict.fromkeys(("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS"), "atomic"),
}
_SPACE_OF = {
    **dict.fromkeys(("LDG", "STG", "ATOMG", "RED", "REDG"), "global"),
    **dict.fromkeys(("LDS", "STS", "LDSM", "STSM", "ATOMS", "REDS"), "shared"),
    **dict.fromkeys(("LDL", "STL"), "local"),
    **dict.fromkeys(("LDC", "ULDC", "LDCU"), "constant"),
    **dict.fromkeys(("LDTM", "STTM"), "tensor"),
    **dict.fromkeys(("LD", "ST", "ATOM"), "generic"),
    "STAS": "cluster",
}
# Copies between spaces by a unit of their own, whose sizes are in a descriptor or register.
_BULK = {
    "UTMALDG": ("global", "shared"),
    "UTMASTG": ("shared", "global"),
    "UTMAREDG": ("shared", "global"),
    "UBLKCP": None,
    "UBLKRED": None,
}
#: Bytes of a lane for each 8x8 matrix of 16-bit elements that LDSM and STSM move.
MATRIX_BYTES = 4


@dataclass(frozen=True)
class MemoryAccess:
    """An access of one lane, or of the whole warp where a unit copies on its behalf.

    Parameters
    ----------
    space
        ``global``, ``shared``, ``local``, ``constant``, ``generic`` (decided by the address),
        ``cluster`` (shared memory of another block) or ``tensor`` (Blackwell's tensor memory);
        None if the text does not say.
    direction
        ``load``, ``store`` or ``atomic``.
    bytes_per_lane
        The width; None if a descriptor or register has it.
    """

    space: str | None
    direction: str
    bytes_per_lane: int | None


def accesses(name: str, modifiers: Sequence[str]) -> tuple[MemoryAccess, ...]:
    """The accesses of an opcode with its modifiers."""
    if name == "LDGSTS":
        width = width_bytes(name, modifiers)
        return (MemoryAccess("global", "load", width), MemoryAccess("shared", "store", width))
    if name in _BULK:
        spaces = _BULK[name] or (None, None)
        direction = "atomic" if "RED" in name else "store"
        return (MemoryAccess(spaces[0], "load", None), MemoryAccess(spaces[1], direction, None))
    direction = _SPACES.get(name)
    if direction is None:
        return ()
    return (MemoryAccess(_SPACE_OF[name], direction, width_bytes(name, modifiers)),)


def width_bytes(name: str, modifiers: Sequence[str]) -> int | None:
    """Bytes of a lane; None for tensor memory, where shape and repetition decide."""
    if name in ("LDTM", "STTM"):
        return None
    if name in ("LDSM", "STSM"):
        last = modifiers[-1] if modifiers else ""
        return MATRIX_BYTES * (int(last) if last in ("2", "4") else 1)
    found = [_BYTES[word] for word in modifiers if word in _BYTES]
    return found[-1] if found else _WORD

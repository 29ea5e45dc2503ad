"""What a request is about: a file, the call of its kernels, and the device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tirlens.tools.arguments import argument

Tier = Literal["source", "lowered", "compiled"]
MOST_TEXT_CHARACTERS = 1 << 20


@dataclass(frozen=True)
class FileSubject:
    """A file with kernels."""

    file: str = argument(
        "Path of a Python file, absolute or relative to an allowed folder", example="kernels.py"
    )


@dataclass(frozen=True)
class Subject(FileSubject):
    """The kernels of a file with their arguments, on a device."""

    kernel: str | None = argument("Only kernels of this name; * and ? match", None)
    call: str | None = argument(
        "The call to evaluate. Default: the calls that the text gives",
        None,
        example="matmul(4096, 4096, 4096)",
    )
    bindings: Mapping[str, int] | None = argument(
        "Sizes of dynamic dimensions by name", None, example={"M": 4096}
    )
    device: str | None = argument(
        "Id of a device. Default: what the file or the project names, else h100-sxm",
        None,
        example="h100-sxm",
    )
    tier: Tier = argument(
        "source: fastest; lowered: as tilelang lowers it; compiled: by nvcc, seconds a kernel",
        "lowered",
    )
    apply: tuple[str, ...] | None = argument(
        "Ids of edits of advise, each of the text with those before it: evaluate the file with "
        "them. Nothing is written",
        None,
    )
    text: str | None = argument(
        "Text in place of that of the file. Needs the server's option --write",
        None,
        characters=MOST_TEXT_CHARACTERS,
    )

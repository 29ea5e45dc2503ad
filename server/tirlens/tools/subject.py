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
        "Python file, absolute or relative to an allowed folder", example="kernels.py"
    )


@dataclass(frozen=True)
class Subject(FileSubject):
    """The kernels of a file with their arguments, on a device."""

    kernel: str | None = argument("Only this kernel; * and ? match", None)
    call: str | None = argument(
        "Call to evaluate; default: those that the text gives",
        None,
        example="matmul(4096, 4096, 4096)",
    )
    bindings: Mapping[str, int] | None = argument(
        "Sizes of dynamic dimensions by name", None, example={"M": 4096}
    )
    device: str | None = argument(
        "Device id; default: that of the file or project, else h100-sxm",
        None,
        example="h100-sxm",
    )
    tier: Tier = argument(
        "source: fastest; lowered: by tilelang; compiled: by nvcc, seconds a kernel",
        "lowered",
    )
    apply: tuple[str, ...] | None = argument(
        "Evaluate with these edits: ids of advise, each on the text with those before it",
        None,
    )
    text: str | None = argument(
        "Text in place of the file's; needs the option --write of the server",
        None,
        characters=MOST_TEXT_CHARACTERS,
    )

"""The size of a call by shape and type, and the values in it that are assumed."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.language_models import load

if TYPE_CHECKING:
    from tirlens.model.report import ArrayShape, KernelReport
    from tirlens_worker.facts import Span

# More sizes than this are too many to read: the shape of the largest array is displayed instead.
_MOST_SIZES = 6
_SHORT_TYPES = {
    "bfloat16": "bf16",
    "float": "fp32",
    "half": "fp16",
    "double": "fp64",
}


def size(report: KernelReport) -> str:
    """``1024x1024x512 fp8``, ``4096?x4096? fp16?, 3 more assumed``; empty without arrays.

    The sizes are those of the arguments on which the arrays depend, or the shape of the largest
    array where these are not known or fewer.  A ``?`` follows a value that is assumed.
    """
    found = _main_array(report)
    if found is None:
        return _with_count(report, "", set())
    marked = {name for name in report.sizes if name in report.assumed}
    if report.sizes and len(found.shape or ()) <= len(report.sizes) <= _MOST_SIZES:
        parts = [f"{value}{'?' * (name in marked)}" for name, value in report.sizes.items()]
    else:
        values = {report.sizes[name] for name in marked}
        parts = [f"{extent}{'?' * (extent in values)}" for extent in found.shape or ()] or ["?"]
        marked = {name for name in marked if report.sizes[name] in (found.shape or ())}
    dtype = _product_type(report) or found.dtype
    types = {name for name, text in report.assumed.items() if _is_type(text, found.dtype)}
    text = f"{'x'.join(parts)} {short_type(dtype)}{'?' * bool(types)}"
    return _with_count(report, text, marked | types)


def assumption_texts(report: KernelReport) -> list[str]:
    """The assumed values, each with its name: ``M=4096?``."""
    return [labels.ascii_(f"{name}={text}?") for name, text in report.assumed.items()]


def known_texts(report: KernelReport) -> list[tuple[str, Span]]:
    """The values of an assumed call that the text gives, each with its place: ``dim=512``."""
    return [(labels.ascii_(f"{one.name}={one.text}"), one.span) for one in report.known]


def model_text(report: KernelReport) -> str:
    """``as in DeepSeek-V3.2``; empty where no size is that of a language model."""
    return f"as in {load(report.model.model).name}" if report.model is not None else ""


def short_type(dtype: str) -> str:
    """``fp16``, ``bf16``, ``fp8`` for every float8 format, ``int8``."""
    if dtype in _SHORT_TYPES:
        return _SHORT_TYPES[dtype]
    base = dtype.partition("_")[0]
    return "fp" + base.removeprefix("float") if base.startswith("float") else base


def _with_count(report: KernelReport, text: str, marked: set[str]) -> str:
    """`text` with the number of the assumed values that are not marked in it."""
    others = len(report.assumed) - len(marked)
    count = f"{others}{' more' * bool(marked)} assumed" if others else ""
    return ", ".join(part for part in (text, count, model_text(report)) if part)


def _main_array(report: KernelReport) -> ArrayShape | None:
    """The largest of the arrays that the kernel takes, one of numbers in preference to indices."""
    return max(
        report.arrays,
        key=lambda array: (math.prod(array.shape or ()), "float" in array.dtype),
        default=None,
    )


def _product_type(report: KernelReport) -> str:
    """The type of the products, if these are most of the operations: ``float8``."""
    if not report.flop_by_class:
        return ""
    name = max(report.flop_by_class, key=lambda name: report.flop_by_class[name])
    kind, *types = name.split(".")
    return types[0] if kind == "tensor" else ""


def _is_type(text: str, dtype: str) -> bool:
    """Whether an expression is the type `dtype`, as text or as an attribute of a module."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if isinstance(node, ast.Constant):
        return node.value == dtype
    return isinstance(node, ast.Attribute) and node.attr == dtype

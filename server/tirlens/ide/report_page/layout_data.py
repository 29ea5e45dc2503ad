"""The layouts of shared arrays as data: which banks a warp touches, row by row and swizzled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.ide.report_page.chart_schema import Access, BankCell, Layout, Pattern

if TYPE_CHECKING:
    from tirlens.model.details import BankPattern, SharedAccess, SharedLayout


def layout_data(layout: SharedLayout) -> Layout:
    """A shared array with the accesses of its warps."""
    shape = " x ".join(map(str, layout.shape))
    return {
        "array": layout.array,
        "text": f"{layout.dtype} {shape}",
        "state": _state(layout),
        "swizzled": layout.is_swizzled,
        "panel": layout.panel_bytes,
        "accesses": [_access_data(access) for access in layout.accesses],
    }


def _state(layout: SharedLayout) -> str:
    if layout.is_swizzled:
        return f"laid out with a swizzle of {layout.panel_bytes} bytes"
    if layout.panel_bytes is None:
        return "row by row; its rows are no multiple of 32 bytes, so that no swizzle fits"
    return f"row by row; a swizzle of {layout.panel_bytes} bytes would fit"


def _access_data(access: SharedAccess) -> Access:
    lanes = f"{access.lanes} x {access.bytes_per_lane} B"
    what = "rows of a matrix operand" if access.is_matrix_operand else "lanes"
    return {
        "label": " ".join(access.label.split()),
        "line": access.line,
        "mode": access.mode,
        "request": f"{lanes} ({what})",
        "before": _pattern_data(access.row_by_row, access.least_wavefronts),
        "after": None
        if access.swizzled is None
        else _pattern_data(access.swizzled, access.least_wavefronts),
    }


def _pattern_data(pattern: BankPattern, least_wavefronts: float) -> Pattern:
    passes = f"{labels.number(pattern.wavefronts)} {_plural(pattern.wavefronts)}"
    conflicts = pattern.wavefronts - least_wavefronts
    return {
        "cells": [BankCell(*cell) for cell in pattern.cells],
        "text": f"{passes}, {labels.number(conflicts)} of them conflicts" if conflicts else passes,
        "conflicts": conflicts > 0,
    }


def _plural(count: float) -> str:
    return "wavefront" if count == 1 else "wavefronts"

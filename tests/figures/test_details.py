"""The timeline of a block and the layouts of its shared arrays, for kernels of each structure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from figures.held import assert_held, line
from figures.kernels import FOLDER, KERNELS, HeldKernel
from tirlens.hardware import load
from tirlens.model.details import BlockTimeline, SharedLayout, kernel_details

_DEVICES = {
    "product-pipelined": "h100-sxm", "product-tile": "a100-80-sxm",
    "product-tvm": "h100-sxm", "attention": "h100-sxm", "attention-warp-roles": "h100-sxm",
    "delta-rule-chunk": "h100-sxm", "delta-rule-decode": "h100-sxm", "transpose": "a100-80-sxm",
    "softmax": "h100-sxm",
}  # fmt: skip


@pytest.mark.parametrize(
    "kernel",
    [kernel for kernel in KERNELS if kernel.name in _DEVICES],
    ids=lambda kernel: kernel.name,
)
def test_details(kernel: HeldKernel) -> None:
    found = kernel_details(kernel.facts, load(_DEVICES[kernel.name]), kernel.bindings)
    lines = [] if found.timeline is None else list(_timeline(found.timeline))
    for layout in found.shared_layouts:
        lines += _layout(layout)
    assert_held(FOLDER / "details" / f"{kernel.name}.txt", "\n".join(lines))


def _timeline(found: BlockTimeline) -> Iterator[str]:
    yield line(of="timeline", displayed_s=found.displayed_s, block_s=found.block_s, part=found.part)
    for lane in found.lanes:
        for one in lane.segments:
            yield line(of=lane.name, **vars(one))
    for gap in found.gaps:
        yield line(of="gap", **vars(gap))


def _layout(found: SharedLayout) -> Iterator[str]:
    yield line(of="array", **{**vars(found), "accesses": len(found.accesses)})
    for access in found.accesses:
        for layout, pattern in (("rows", access.row_by_row), ("swizzle", access.swizzled)):
            yield line(
                of=f"{access.mode} {access.label} by {layout}",
                line=access.line,
                is_matrix_operand=access.is_matrix_operand,
                lanes=access.lanes,
                bytes_per_lane=access.bytes_per_lane,
                least_wavefronts=access.least_wavefronts,
                wavefronts=pattern and pattern.wavefronts,
                cells=pattern and pattern.cells,
            )

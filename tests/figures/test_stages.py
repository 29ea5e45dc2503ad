"""The figures of each stage of the model, statement by statement, for kernels of each structure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import pytest

from figures.held import assert_held, line
from figures.kernels import FOLDER, KERNELS, HeldKernel
from tirlens.hardware import load
from tirlens.model.analyze import workload_of
from tirlens.model.gpu.kernel import GpuKernel, model_gpu_kernel
from tirlens.model.tree.node import Leaf
from tirlens.model.tree.timed_node import TimedNode

_NAMES = {
    "product-tile", "product-int8xint4", "product-split-k", "product-tvm-searched", "matrix-vector",
    "attention", "attention-warp-roles", "delta-rule-chunk", "softmax", "cumulative-sum",
    "transpose", "top-k-tirx", "product-spilled", "product-compiled", "tree-sums-tvm",
    "rows-of-layers", "convolution-rows", "moving-sums-tvm",
}  # fmt: skip
_DEVICES = ("h100-sxm", "a100-80-sxm")


@pytest.mark.parametrize(
    "kernel",
    [kernel for kernel in KERNELS if kernel.name in _NAMES],
    ids=lambda kernel: kernel.name,
)
def test_stages(kernel: HeldKernel) -> None:
    workload = workload_of(kernel.facts, kernel.bindings)
    assert workload is not None
    lines: list[str] = []
    for device in _DEVICES:
        modelled = model_gpu_kernel(workload, load(device))
        lines += [f"# {device}", *_figures(modelled), ""]
    assert_held(FOLDER / "stages" / f"{kernel.name}.txt", "\n".join(lines))


def _figures(modelled: GpuKernel) -> Iterator[str]:
    own_s = _own_s(modelled.node_times)
    context = modelled.context
    for leaf in modelled.leaves:
        number = leaf.number
        yield line(
            of=f"{number} counted",
            executions=leaf.count.executions,
            flop=leaf.flop,
            useful_flop=leaf.useful_flop,
            masked_flop=leaf.masked_flop,
            read_bytes=leaf.read_bytes,
            write_bytes=leaf.write_bytes,
            shared_bytes=leaf.shared_bytes,
            threads=leaf.threads,
            lanes=leaf.lanes,
        )
        route, row = context.compiled.routes[leaf], context.compiled.instructions[leaf]
        yield line(
            of=f"{number} route", **{each.name: getattr(route, each.name) for each in fields(route)}
        )
        yield line(of=f"{number} instructions", by_unit=row.operations)
        mapping = row.mapping
        yield line(
            of=f"{number} mapping",
            vector=mapping.vector,
            repeats=mapping.repeats,
            is_serial=mapping.is_serial,
            issued=mapping.issued_shares,
            unlimited=mapping.unlimited_vector,
        )
        for request in filter(None, mapping.requests):
            figures = {name: value for name, value in vars(request).items() if "off" not in name}
            yield line(of=f"{number} request", **figures)
        yield line(
            of=f"{number} compiled",
            index=row.index,
            predicate=row.predicate,
            skipped=row.skipped,
            spilled_bytes=context.busy.spills[leaf].stored_bytes,
            slow_path=row.has_slow_path,
        )
        traffic = context.moved.traffic[leaf]
        yield line(
            of=f"{number} moved",
            l2_read_bytes=traffic.l2_read_bytes,
            l2_write_bytes=traffic.l2_write_bytes,
            dram_read_bytes=traffic.dram_read_bytes,
            dram_write_bytes=traffic.dram_write_bytes,
            dram_requested_bytes=traffic.dram_requested_bytes,
            sectors_per_request=traffic.sectors_per_request,
            atomic_passes=context.moved.atomics[leaf].passes,
        )
        yield line(of=f"{number} busy", busy_s=context.busy.unit_s[leaf])
        yield line(of=f"{number} block", own_s=own_s.get(number))
    block = modelled.launch.block
    resources = block.resources
    yield line(
        of="resident",
        blocks_per_sm=block.blocks_per_sm,
        limiter=block.occupancy and block.occupancy.limiter,
        registers_per_thread=resources.registers_per_thread,
        shared_bytes=resources.shared_bytes,
        spill_bytes=context.compiled.thread.spill_bytes,
    )
    yield line(of="block", total_s=modelled.node_times.total_s)
    yield line(of="kernel", **vars(modelled.time))


def _own_s(node: TimedNode) -> dict[int, float]:
    """The own time of each statement in a block, by its number."""
    found = {node.node.number: node.own_s} if isinstance(node.node, Leaf) else {}
    for child in node.children:
        found |= _own_s(child)
    return found

"""The step of a model as measured: parts that are the wall time, gaps, graphs, overlap."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from tirlens.measured.performance.categories import category_of
from tirlens.measured.records import Operation, Position
from tirlens.measured.timeline import Step, step_of

US = 1e-6


def operation(name: str, start: float | None, time: float | None, **fields: object) -> Operation:
    """An operation of so many microseconds."""
    return Operation(
        name,
        Position("t.json", 1),
        start_s=None if start is None else start * US,
        time_s=None if time is None else time * US,
        **fields,  # type: ignore[arg-type]
    )


def parts_are_the_wall(step: Step) -> bool:
    """Whether the parts of all kernels, and of all categories, are the busy time."""
    assert step.busy_s is not None and step.idle_s is not None and step.wall_s is not None
    kernels = sum(kernel.part_s or 0.0 for kernel in step.kernels)
    categories = sum(category.part_s or 0.0 for category in step.categories)
    return (
        math.isclose(kernels, step.busy_s, rel_tol=1e-9)
        and math.isclose(categories, step.busy_s, rel_tol=1e-9)
        and math.isclose(step.busy_s + step.idle_s, step.wall_s, rel_tol=1e-9)
    )


def test_kernels_one_after_the_other() -> None:
    step = step_of(
        [operation("gemm", 100, 10), operation("softmax", 115, 5), operation("gemm", 120, 10)]
    )
    (device,) = step.devices
    assert device.wall_s == pytest.approx(30 * US) and device.busy_s == pytest.approx(25 * US)
    assert device.gaps == 1 and device.overlapped_s == pytest.approx(0, abs=1e-12)
    (gap,) = device.longest
    assert (step.kernels[gap.before].name, step.kernels[gap.after].name) == ("gemm", "softmax")
    assert gap.length_s == pytest.approx(5 * US) and gap.start_s == pytest.approx(10 * US)
    assert [(kernel.name, kernel.executions) for kernel in step.kernels] == [
        ("gemm", 2),
        ("softmax", 1),
    ]
    assert step.share(step.kernels[0]) == pytest.approx(20 / 30)
    assert parts_are_the_wall(step)


def test_operations_without_a_pause_have_no_gaps() -> None:
    """Begins and times that are no sums of powers of two round to either side of the next begin."""
    starts = [0.001 * number + 0.0003 for number in range(200)]
    step = step_of([operation("gemm", start, 0.001) for start in starts])
    (device,) = step.devices
    assert device.gaps == 0 and step.idle_s == 0


def test_programmatic_launch_never_makes_more_than_the_wall_time() -> None:
    """Each kernel begins 4 us before the one before it ends."""
    step = step_of([operation(f"k{index}", 6 * index, 10) for index in range(10)])
    (device,) = step.devices
    assert step.sum_s == pytest.approx(100 * US) and device.wall_s == pytest.approx(64 * US)
    assert device.busy_s == device.wall_s and device.gaps == 0
    assert device.overlapped_s == pytest.approx(36 * US)
    assert all((step.share(kernel) or 0) <= 10 / 64 for kernel in step.kernels)
    assert parts_are_the_wall(step)


def test_streams_are_lanes_and_overlapped_communication_is_not_exposed() -> None:
    step = step_of([
        operation("gemm", 0, 10, device="0", stream="7"),
        operation("ncclDevKernel_AllReduce_Sum", 4, 10, device="0", stream="20"),
        operation("gemm", 20, 10, device="0", stream="7"),
        operation("gemm", 0, 30, device="1", stream="7"),
    ])  # fmt: skip
    assert [(lane.device, lane.stream, len(lane.starts_s)) for lane in step.lanes] == [
        ("0", "7", 2), ("0", "20", 1), ("1", "7", 1),
    ]  # fmt: skip
    categories = {one.category: one for one in step.categories}
    assert categories["collective"].alone_s == pytest.approx(4 * US)
    # Six microseconds are of both.
    assert categories["collective"].part_s == pytest.approx(7 * US)
    assert step.wall_s == pytest.approx(60 * US) and step.idle_s == pytest.approx(6 * US)
    assert parts_are_the_wall(step)


@pytest.mark.slow
def test_every_stream_has_a_lane() -> None:
    streams = [str(number) for number in range(0x10001)]
    step = step_of(operation("copy", 1, 1, stream=stream) for stream in streams)
    assert [lane.stream for lane in step.lanes] == streams


def test_files_have_clocks_and_devices_of_their_own() -> None:
    step = step_of([
        replace(operation("a", start, 10, device="0"), position=Position(path, 1))
        for path, begin in (("run/rank0.json", 500), ("run/rank1.json", 90_000))
        for start in (begin, begin + 15)
    ])  # fmt: skip
    assert [device.device for device in step.devices] == ["0, rank0.json", "0, rank1.json"]
    assert [list(lane.starts_s) for lane in step.lanes] == [pytest.approx([0, 15 * US])] * 2
    assert step.wall_s == pytest.approx(50 * US) and step.idle_s == pytest.approx(10 * US)


def test_gaps_of_a_graph_are_the_devices_and_late_launches_the_hosts() -> None:
    step = step_of([
        operation("a", 0, 10, graph_launch="g1", launched_s=-5 * US),
        operation("b", 12, 10, graph_launch="g1", launched_s=-5 * US),
        operation("a", 40, 10, graph_launch="g2", launched_s=34 * US),
        operation("b", 53, 10, launched_s=30 * US),
    ])  # fmt: skip
    (device,) = step.devices
    assert device.graph_gap_s == pytest.approx(2 * US)
    # The second graph was launched 12 us after the first had ended, 6 us before it began.
    assert device.late_launch_s == pytest.approx(12 * US)
    assert [gap.is_in_graph for gap in device.longest] == [False, False, True]
    assert device.longest[0].late_launch_s == pytest.approx(12 * US)
    assert device.longest[1].late_launch_s == 0 and device.longest[2].late_launch_s is None


def test_without_launches_their_lateness_is_not_known() -> None:
    (device,) = step_of([operation("a", 0, 1), operation("a", 5, 1)]).devices
    assert device.late_launch_s is None and device.graph_gap_s == 0


def test_a_trace_without_begins_is_in_the_order_of_its_rows() -> None:
    step = step_of([
        operation("Matmul", None, 10, gap_s=3 * US),
        operation("LayerNorm", None, 5, gap_s=2 * US),
        operation("Matmul", None, 10),
    ])  # fmt: skip
    assert step.clock == "order" and step.unknown_gaps == 1
    assert list(step.lanes[0].starts_s) == pytest.approx([0, 12 * US, 17 * US])
    assert step.wall_s == pytest.approx(27 * US) and step.idle_s == pytest.approx(2 * US)


def test_rows_that_sum_executions_have_no_timeline() -> None:
    step = step_of([operation("gemm", None, 30, executions=3), operation("softmax", None, 10)])
    assert step.clock == "none" and not step.lanes and step.wall_s is None
    assert [step.share(kernel) for kernel in step.kernels] == pytest.approx([0.75, 0.25])
    assert step.executions == 4


def test_without_begins_and_gaps_there_is_no_timeline() -> None:
    step = step_of([operation("gemm", None, 30), operation("softmax", None, 10)])
    assert step.clock == "none" and step.wall_s is None and step.sum_s == pytest.approx(40 * US)


def test_what_is_not_known_is_counted() -> None:
    step = step_of([
        operation("a", 0, 10), operation("b", 5, None), operation("c", None, 5),
        operation("aten::mm", 0, 100, kind="host"),
    ])  # fmt: skip
    assert step.untimed == 1 and step.unplaced == 1
    assert {kernel.name: kernel.part_s for kernel in step.kernels} == {
        "a": pytest.approx(10 * US),
        "c": 0.0,
    }


def test_the_reachable_time_is_beside_the_time_of_the_same_executions() -> None:
    step = step_of(
        [operation("a", 0, 10), operation("a", 10, 30), operation("b", 40, 1)],
        [4 * US, None, None],
    )
    found = {kernel.name: kernel for kernel in step.kernels}
    assert found["a"].reachable_s == pytest.approx(4 * US)
    assert found["a"].reachable_of_s == pytest.approx(10 * US)
    assert found["b"].reachable_s is None


def test_nothing_is_no_step() -> None:
    for operations in ([], [operation("a", 0, None)], [operation("h", 0, 1, kind="host")]):
        step = step_of(operations)
        assert step.clock == "none" and step.wall_s is None and not step.lanes


def union_s(operations: Iterable[Operation]) -> float:
    """The measure of a union of intervals, by another algorithm: each microsecond by itself."""
    covered: set[int] = set()
    for one in operations:
        assert one.start_s is not None and one.time_s is not None
        start, end = round(one.start_s / US), round((one.start_s + one.time_s) / US)
        covered.update(range(start, end))
    return len(covered) * US


@pytest.mark.parametrize("seed", range(30))
def test_any_overlap(seed: int) -> None:
    """Begins in any order, equal begins and ends, operations without a length."""
    random_ = random.Random(seed)
    operations = [
        operation(
            random_.choice(["gemm", "softmax", "ncclAllReduce", "copy"]),
            random_.randrange(60),
            random_.choice([0, 1, 2, 3, 10]),
            stream=random_.choice("ab"),
        )
        for _ in range(random_.randrange(1, 40))
    ]
    step = step_of(operations)
    assert step.busy_s == pytest.approx(union_s(operations), abs=1e-12)
    kernels = sum(kernel.part_s or 0.0 for kernel in step.kernels)
    assert kernels == pytest.approx(step.busy_s, abs=1e-12)
    (device,) = step.devices
    assert sum(gap.length_s for gap in device.longest) == pytest.approx(device.idle_s, abs=1e-12)
    assert all((one.alone_s or 0) <= (one.part_s or 0) + 1e-12 for one in step.categories)


# fmt: off
CATEGORIES = {
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64": "product",
    "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT": "product",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_256x128_32x3>": "product",
    "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1": "product",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float>": "product",
    "MatmulDeviceOperation": "product",
    "volta_scudnn_128x64_relu_interior_nn_v1": "product",
    "triton_tem_fused_mm_3": "product",
    "void flash::flash_fwd_kernel<Flash_traits<128>>(Flash_fwd_params)": "attention",
    "_ZN7cutlass13device_kernelIN5flash11enable_sm90INS1_16FlashAttnFwdSm90": "attention",
    "fmha_cutlassF_bf16_aligned_64x128_rf_sm80": "attention",
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<...>": "attention",
    "ScaledDotProductAttention": "attention",
    "void at::native::(anonymous namespace)::layer_norm_kernel<float>(int)": "normalisation",
    "vllm::rms_norm_kernel<c10::BFloat16>": "normalisation",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10>": "normalisation",
    "LayerNormDeviceOperation": "normalisation",
    "triton_per_fused_native_layer_norm_add_2": "normalisation",
    "triton_poi_fused_convolution_relu_4": "elementwise",
    "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>": "elementwise",
    "vllm::act_and_mul_kernel<c10::BFloat16>": "elementwise",
    "BinaryNgDeviceOperation": "elementwise",
    "elementwise_kernel<128, direct_copy_kernel_cuda(TensorIteratorBase&)::{lambda()#1}>": "copy",
    "InterleavedToShardedDeviceOperation": "copy",
    "EmbeddingsDeviceOperation": "copy",
    "Memcpy HtoD (Pageable -> Device)": "copy",
    "void scal_kernel<float>(cublasTransposeParams<float>)": "other",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)": "collective",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>": "collective",
    "AllGatherAsync": "collective",
    "void at::native::reduce_kernel<512, 1, ReduceOp<float, NormTwoOps<float>>>": "other",
    "my_kernel": "other",
    "": "other",
}
# fmt: on


@pytest.mark.parametrize("name", CATEGORIES)
def test_the_category_of_a_name(name: str) -> None:
    assert category_of(name) == CATEGORIES[name]


def test_the_kind_of_an_operation_comes_before_its_name() -> None:
    assert (
        category_of("gemm", "copy") == "copy" and category_of("gemm", "collective") == "collective"
    )


def test_a_name_without_end_takes_no_time() -> None:
    assert category_of("(" * 1_000_000) == "other"
    assert category_of("a<" * 1_000_000) == "other"

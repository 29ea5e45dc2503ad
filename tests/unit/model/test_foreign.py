"""Matrix instructions on devices that do not have them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.compiler.foreign import foreign
from tirlens_worker.facts import Arith, Launch, Loop, Span, Statement

from .generate import SPAN, kernel

PLACE = Span(5, 4, 5, 30)
PRODUCT = (Arith("mma", "float16", 128),)


@pytest.mark.parametrize(
    ("label", "has", "lacks"),
    [
        ("T.ptx_wgmma_ss(m64n64k16)", "h100-sxm", "b200"),
        ("T.wgmma_gemm(A, B, C)", "h200", "a100-80-sxm"),
        ("T.tcgen05_gemm(A, B, C)", "b200", "rtx-5090"),
        ("T.tvm_mfma(m16n16k16)", "mi300x", "h100-sxm"),
        ("T.tvm_mfma(m16n16k16)", "mi210", "b200"),
    ],
)
def test_an_instruction_of_another_device_is_told_at_its_line(
    label: str, has: str, lacks: str
) -> None:
    node = Statement("call", label, arith=PRODUCT, sites=(PLACE,))
    assert foreign([node], load(has).arch) == ()
    (note,) = foreign([node, node], load(lacks).arch)
    assert note.span == PLACE and note.message.startswith(f"{load(lacks).arch} has no ")


@pytest.mark.parametrize(
    "node",
    [
        Statement("gemm", "T.gemm(A, B, C)", arith=PRODUCT, sites=(PLACE,)),
        Statement("call", "T.wait_wgmma()", sites=(PLACE,)),
        Statement("store", "wgmma[0] = tvm_mfma", sites=(PLACE,)),
    ],
)
def test_what_is_no_such_instruction_is_not_told(node: Statement) -> None:
    assert foreign([node], "sm_70") == ()


def test_a_report_has_the_note_beside_its_figures() -> None:
    call = Statement("call", "T.tvm_mfma(m16n16k16)", arith=PRODUCT, sites=(PLACE,))
    threads = Loop("block", "tx", 0, 64, (call,), sites=(SPAN,))
    facts = kernel((Loop("grid", "bx", 0, 10, (threads,), sites=(SPAN,)),))
    facts = replace(facts, launch=Launch(grid=(10,), threads=(64,)))
    told = {
        device: [note.message for note in analyze(facts, load(device)).caveats]
        for device in ("h100-sxm", "mi300x")
    }
    wanted = "sm_90 has no mfma instruction: T.tvm_mfma does not compile for this device"
    assert wanted in told["h100-sxm"]
    assert not any("mfma" in message for message in told["mi300x"])

"""Matrix instructions on devices that do not have them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.generate import SPAN, kernel
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.compiler.matrix_instructions import find_unsupported_instructions
from tirlens_worker.facts import Arith, Barrier, Gemm, Launch, Loop, Mma, Span, Statement, Store

PLACE = Span(5, 4, 5, 30)
PRODUCT = (Arith("mma", "float16", 128),)


@pytest.mark.parametrize(
    ("node", "has", "lacks"),
    [
        (Mma("", PRODUCT, sites=(PLACE,), instruction="wgmma"), "h100-sxm", "b200"),
        (Gemm("", PRODUCT, sites=(PLACE,), instruction="wgmma"), "h200", "a100-80-sxm"),
        (Gemm("", PRODUCT, sites=(PLACE,), instruction="tcgen05"), "b200", "rtx-5090"),
        (Mma("", PRODUCT, sites=(PLACE,), instruction="mfma"), "mi300x", "h100-sxm"),
        (Mma("", PRODUCT, sites=(PLACE,), instruction="mfma"), "mi210", "b200"),
    ],
)
def test_an_instruction_of_another_device_is_told_at_its_line(
    node: Statement, has: str, lacks: str
) -> None:
    assert find_unsupported_instructions([node], load(has).arch) == ()
    (note,) = find_unsupported_instructions([node, node], load(lacks).arch)
    assert note.span == PLACE and note.message.startswith(f"{load(lacks).arch} has no ")


@pytest.mark.parametrize(
    "node",
    [
        Gemm("T.wgmma_gemm(A, B, C)", PRODUCT, sites=(PLACE,)),
        Mma("T.tcgen05_mma_ss(m64n64k16)", PRODUCT, sites=(PLACE,)),
        Barrier("T.wait_wgmma()", sites=(PLACE,), kind="wgmma"),
        Store("wgmma[0] = tvm_mfma", sites=(PLACE,)),
    ],
)
def test_what_is_no_such_instruction_is_not_told(node: Statement) -> None:
    assert find_unsupported_instructions([node], "sm_70") == ()


def test_a_report_has_the_note_beside_its_figures() -> None:
    call = Mma("T.tvm_mfma(m16n16k16)", PRODUCT, sites=(PLACE,), instruction="mfma")
    threads = Loop("block", "tx", 0, 64, (call,), sites=(SPAN,))
    facts = kernel((Loop("grid", "bx", 0, 10, (threads,), sites=(SPAN,)),))
    facts = replace(facts, launch=Launch(grid=(10,), threads=(64,)))
    told = {
        device: [note.message for note in analyze(facts, load(device)).caveats]
        for device in ("h100-sxm", "mi300x")
    }
    wanted = "sm_90 has no mfma instruction: the statement does not compile for this device"
    assert wanted in told["h100-sxm"]
    assert not any("mfma" in message for message in told["mi300x"])

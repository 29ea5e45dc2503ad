"""The model's counts and registers against what NVIDIA's compiler makes of the same kernels."""

from __future__ import annotations

from measured.against_compiler import compared, kernels, summary
from measured.compiled import code_of, histogram

LISTING = """
\t.target\tsm_90a
\t.section\t.text.kernel_0,"ax",@progbits
\t.sectioninfo\t@"SHI_REGISTERS=8"
        .type           kernel_0,@function
        .other          kernel_0,@"STO_CUDA_ENTRY STV_DEFAULT"
kernel_0:
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_2:
.L_x_1:
        /*0010*/                   FFMA R1, R0, R0, R1 ;
        /*0020*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0030*/              @!P0 BRA `(.L_x_3) ;
        /*0040*/                   CALL.REL.NOINC `($__internal_0_$__cuda_div) ;
.L_x_3:
        /*0050*/               @P1 BRA `(.L_x_2) ;
        /*0060*/                   EXIT ;
        .type           $__internal_0_$__cuda_div,@function
$__internal_0_$__cuda_div:
        /*0070*/                   MUFU.RCP R1, R1 ;
.L_x_0:
        /*0080*/                   BRA `(.L_x_0);
"""


def test_a_listing_is_read_without_what_ordinary_values_do_not_reach() -> None:
    (code,) = code_of(LISTING).values()
    assert histogram(code.whole) == "BRA:2 EXIT:1 FFMA:1 LDG.128:1 S2R:1"
    assert histogram(code.loop) == "BRA:2 FFMA:1 LDG.128:1"


def test_the_model_counts_as_the_compiler_does() -> None:
    found = summary(one for kernel in kernels() if (one := compared(kernel)) is not None)
    assert found["kernels"] >= 150 and found["kernels with instructions"] >= 120
    assert found["blocks right"] >= 0.84
    assert found["spills right"] >= 0.94
    assert found["median error of registers"] <= 0.115
    assert found["median error of instructions"] <= 0.25

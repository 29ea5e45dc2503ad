"""Links between generated code and its source: line directives, and the arrays that lines name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support import kernels
from tirlens import pipeline
from tirlens.pipeline.generation_request import generation_request, linked_code
from tirlens_worker.frameworks.lowering.generate import _without_directives
from tirlens_worker.protocol import LIBRARY_LINE, GeneratedCode, GeneratedText, Result

GEMM = kernels.gemm()

SOURCE = """\
#include <x.h>
__global__ void k() {
#line 6 "/x/k.py"
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    f(i);
  }
  g();
#line 40 "/lib/macro.py"
  wgmma();
#line 9 "/x/k.py"
  h();
}
"""


def test_a_directive_holds_for_the_statement_after_it() -> None:
    found = _without_directives(SOURCE, "/x/k.py")
    assert "#line" not in found.text
    lines = dict(zip(map(str.strip, found.text.splitlines()), found.lines, strict=True))
    assert lines["#pragma unroll"] == lines["for (int i = 0; i < 4; ++i) {"] == lines["f(i);"] == 6
    assert lines["wgmma();"] == LIBRARY_LINE and lines["h();"] == 9
    assert lines["g();"] == lines["#include <x.h>"] == lines["__global__ void k() {"] == 0


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        # The copies of A and B to shared memory are at lines 5 and 6, the product at line 7.
        ("tl::tma_load(A_desc, bar, A_shared)", 0, 5),
        ("B_shared[x] = B_ptr[y];", 0, 6),
        ("wgmma_init(A_shared)", LIBRARY_LINE, 7),
        ("x = A_shared[y];", 0, 0),
        ("__syncthreads();", 0, 0),
        ("f(A_desc, A_shared)", 3, 3),
        ('T.func_attr({"A": 1, "A_shared": 2})', 0, 0),
    ],
)
def test_lines_are_linked_by_their_arrays(text: str, line: int, expected: int) -> None:
    code = GeneratedCode(
        GEMM.definition, GEMM.name, GEMM.call, "sm_90", (GeneratedText("cuda", text, (line,)),)
    )
    (found,) = linked_code(Result(1, generated=(code,)), [GEMM])
    assert found.texts[0].lines == (max(expected, 0),)


def test_code_of_a_library_that_names_nothing_belongs_to_what_is_before_it() -> None:
    text = GeneratedText("cuda", "init(B_shared)\ncommit()\nother()", (-1, -1, 0))
    code = GeneratedCode(GEMM.definition, GEMM.name, GEMM.call, "sm_90", (text,))
    (found,) = linked_code(Result(1, generated=(code,)), [GEMM])
    assert found.texts[0].lines == (7, 7, 0)


def test_a_failure_is_left_as_it_is() -> None:
    code = GeneratedCode("k", "k", "k()", "sm_90", error="no")
    assert linked_code(Result(1, generated=(code,)), [GEMM]) == [code]


def test_nothing_is_requested_without_a_grid_or_for_another_vendor() -> None:
    from tirlens.source import read

    source = read("")
    first = pipeline.analysis_request(1, "/x.py", "", source, pipeline.Options())
    result = Result(1, kernels=(replace(GEMM),))
    assert generation_request(first, result, source, pipeline.Options()) is None

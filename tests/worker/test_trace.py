"""Kernels of every style yield their IR, with a call that can be pasted."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable

import pytest

from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

TVM = "from tvm.script import tirx as T\nfrom tvm.script import ir as I\n"
TILELANG = "import tilelang\nimport tilelang.language as T\n"
BODY = """
        with T.Kernel(T.ceildiv({n}, 128), threads=128) as bx:
            for i in T.Parallel(128):
                B[bx * 128 + i] = A[bx * 128 + i] + 1.0
"""
LAZY = (
    """
@tilelang.jit
def add(N, block=128{rest}):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
"""
    + BODY.format(n="N")
    + "    return main\n"
)
PLAIN = LAZY.replace("@tilelang.jit\n", "")
EAGER = """
@tilelang.jit
def add(A, B, block: int = 128):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B: T.Tensor((N,), "float32")
""" + BODY.format(n="N").replace("\n    ", "\n")
TUNED = "@tilelang.autotune(configs=[{'block': 64}, {'block': 128}])" + LAZY.replace(
    "block=128", "block=None"
)
_KERNEL = textwrap.indent(PLAIN.replace("def add(N, ", "def kernel(").format(rest=""), "    ")
TUNER = f"""
from tilelang.autotuner import AutoTuner

def add(N):
{_KERNEL}
    configs = [{{"block": 64}}, {{"block": 128}}]
    return AutoTuner.from_kernel(kernel=kernel, configs=configs), configs
"""
MODULE_LEVEL = """
@T.prim_func
def add(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), "float32")):
""" + BODY.format(n="512").replace("\n    ", "\n")
LOCAL = "def test_add():\n" + textwrap.indent(LAZY.format(rest=""), "    ")
DEVICE = """
from tilelang.carver.arch import driver
import torch
sms = driver.get_num_sms()
assert torch.cuda.get_device_capability() == (9, 0)
""" + MODULE_LEVEL.replace("512", "sms * 128")


def _only(result: Result) -> KernelFacts:
    assert (result.problems, result.needs) == ((), ())
    (facts,) = result.kernels
    return facts


@pytest.mark.parametrize(
    ("text", "call", "source", "shape"),
    [
        (LAZY.format(rest=""), "add(4194304)", "assumed", 4194304),
        (LAZY.format(rest="") + "\nk = add(2048)\n", "add(2048)", "call-site", 2048),
        (PLAIN.format(rest="") + "\nk = tilelang.compile(add(256))\n", None, "call-site", 256),
        (LAZY.replace("add(N,", "add(N=640,").format(rest=""), "add()", "defaults", 640),
        (EAGER, "add(N=4194304)", "assumed", 4194304),
        (TUNED.replace("{rest}", ""), "add(4194304)", "assumed", 4194304),
        (TUNER, "add(4194304)", "assumed", 4194304),
        (LOCAL, "test_add().add(4096)", "assumed", 4096),
        (LOCAL + "    k = add(2048)\n", "test_add().add(2048)", "call-site", 2048),
        (MODULE_LEVEL, "add", "module-level", 512),
        (DEVICE, "add", "module-level", 132 * 128),
        (LAZY.format(rest=", dtype='float32', trans_A=None"), "add(4194304)", "assumed", 4194304),
    ],
)
def test_tilelang(run_tilelang: Run, text: str, call: str | None, source: str, shape: int) -> None:
    facts = _only(run_tilelang(TILELANG + text))
    assert facts.framework == "tilelang"
    assert facts.call_source == source
    assert facts.assumed_arguments == ({"N": str(shape)} if source == "assumed" else {})
    if call is not None:
        assert facts.call == call
    assert {buffer.shape for buffer in facts.buffers if buffer.is_parameter} == {(shape,)}
    # What is shown as the call gives the same kernel when it is pasted into a directive.
    if "(" in facts.call:
        again = _only(run_tilelang(TILELANG + text, calls=(facts.call,)))
        assert (again.call, again.buffers) == (facts.call, facts.buffers)
        assert again.call_source == "option"


def test_a_factory_of_factories(run_tilelang: Run) -> None:
    text = PLAIN.format(rest="").replace("\n", "\n    ")
    text = (
        "def build(groups, N=512):\n" + text.replace("add(N,", "inner(block_N,") + "return inner\n"
    )
    facts = _only(run_tilelang(TILELANG + text))
    assert facts.call == "build(1)(128)"
    assert facts.call_source == "assumed"
    assert _only(run_tilelang(TILELANG + text, calls=(facts.call,))).buffers == facts.buffers


SHARED = """
@tilelang.jit
def add(N, dim):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor({shape}, "float32")):
        with T.Kernel(1, threads=128) as bx:
            S = T.alloc_shared(({rows}, dim), "float32")
            for i in T.Parallel(64):
                S[0, i] = A[i]
    return main
"""


@pytest.mark.parametrize(
    ("shape", "rows", "call"),
    [
        ("(N,)", 256, "add(4096, 128)"),
        # 256 kB are more than a block has with 128 columns, and half of it is not: N stays.
        ("(N,)", 512, "add(4096, 64)"),
        # Whatever is assumed, it does not fit: the first is as good as any.
        ("(N,)", 8192, "add(4096, 128)"),
        ("(1024 // N,)", 64, "add(1024, 64)"),
    ],
)
def test_what_is_assumed_fits_and_has_elements(
    run_tilelang: Run, shape: str, rows: int, call: str
) -> None:
    text = TILELANG + SHARED.format(shape=shape, rows=rows)
    assert _only(run_tilelang(text)).call == call


PIPELINED = """
@tilelang.jit
def add(N, dim):
    @T.prim_func
    def main(A: T.Tensor((N, dim), "float32"), B: T.Tensor((N, dim), "float32")):
        with T.Kernel(1, threads=128) as bx:
            S = T.alloc_shared((256, dim), "float32")
            for k in T.Pipelined(N // 256, num_stages={stages}):
                T.copy(A[k * 256, 0], S)
                T.copy(S, B[k * 256, 0])
    return main
"""


@pytest.mark.parametrize(("stages", "call"), [(1, "add(4096, 128)"), (2, "add(4096, 64)")])
def test_each_stage_of_a_pipeline_has_its_shared_memory(
    run_tilelang: Run, stages: int, call: str
) -> None:
    """128 kB of an H100's 227 kB a stage."""
    text = TILELANG + PIPELINED.format(stages=stages)
    assert _only(run_tilelang(text)).call == call


LOOPS = """
@tilelang.jit
def make(A1, B1, C1, D1, E1, F1):
    @T.prim_func
    def main(x: T.Tensor((A1, B1, C1, D1, E1, F1), "float16")):
        with T.Kernel(A1, B1, C1 * D1 * E1) as (a, b, c):
            for f in T.serial(F1):
                for turn in T.serial({turns}):
                    x[a, b, c // (D1 * E1), c // E1 % D1, c % E1, f] += T.float16(1)
    return main
"""


@pytest.mark.parametrize("turns", [1, "F1 * F1"])
def test_what_is_assumed_takes_neither_seconds_nor_no_time(
    run_tilelang: Run, turns: int | str
) -> None:
    (kernel,) = run_tilelang(TILELANG + LOOPS.format(turns=turns)).kernels
    sizes = [int(str(size)) for size in kernel.buffers[0].shape]
    elements = math.prod(sizes)
    rounds = sizes[-1] ** 2 if turns != 1 else 1
    assert 1e5 < elements * rounds < 1e12
    assert kernel.call_source == "assumed"


@pytest.mark.parametrize(
    ("parameter", "body", "argument"),
    [
        ("kind", "steps = STEPS[kind]", 'kind="wide"'),
        ("mode: Mode", "steps = mode.value", "mode=Mode.FAST"),
        ("dtype", "steps = dtype.bits", 'dtype=T.dtype("float16")'),
        ("scoring_type: int", "steps = 2 if scoring_type == 3 else 1 if scoring_type == 7 else 4",
         "3"),
    ],
)  # fmt: skip
def test_values_that_the_module_lists_are_assumed(
    run_tilelang: Run, parameter: str, body: str, argument: str
) -> None:
    text = f"""
import enum

STEPS = {{"wide": 4, "narrow": 2}}
Mode = enum.Enum("Mode", {{"FAST": 1, "EXACT": 2}})

@tilelang.jit
def make({parameter}):
    {body}

    @T.prim_func
    def main(x: T.Tensor((4096,), "float16")):
        with T.Kernel(32, threads=128) as b:
            for i in T.Parallel(128):
                x[b * 128 + i] = x[b * 128 + i] * T.float16(steps)
    return main
"""
    (kernel,) = run_tilelang(TILELANG + text).kernels
    assert kernel.call == f"make({argument})"


def test_a_kernel_whose_parameters_a_tuner_sets_is_given_values(run_tilelang: Run) -> None:
    body = BODY.format(n="4096").replace("128", "block").replace("\n", "\n    ")
    text = f"""
def make():
    def kernel(block=None, num_stages=None):
        @T.prim_func
        def main(A: T.Tensor((4096,), "float32"), B: T.Tensor((4096,), "float32")):
{body}
        return main
    return kernel
"""
    result = run_tilelang(TILELANG + text)
    (facts,) = result.kernels
    assert facts.call == "make()(64, 2)"
    assert facts.call_source == "assumed"


def test_arrays_in_a_call_tell_the_dynamic_sizes(run_tilelang: Run) -> None:
    text = EAGER.replace('T.const("N")', 'T.dynamic("N")')
    call = "import torch\nx = torch.empty(2048)\ny = add(x, torch.empty(2048))\n"
    assert _only(run_tilelang(TILELANG + text + call)).sizes == {"N": 2048}
    facts = _only(run_tilelang(TILELANG + text))
    assert (facts.sizes, facts.assumed) == ({}, {"N": 4096})


def test_sizes_in_the_place_of_arrays_are_told_how_they_are_given(run_tilelang: Run) -> None:
    (problem,) = run_tilelang(TILELANG + EAGER, calls=("add(4096)",)).problems
    assert problem.message.endswith("sizes are given by name: add(N=4096))")
    facts = _only(run_tilelang(TILELANG + EAGER, calls=("add(N=4096)",)))
    assert facts.call == "add(N=4096)"


def test_a_function_that_stands_alone_has_assumed_sizes(run_tilelang: Run) -> None:
    text = 'N = T.dynamic("N")\n' + MODULE_LEVEL.replace("512", "N")
    facts = _only(run_tilelang(TILELANG + text))
    assert [item.name for item in facts.variables] == ["N"]
    assert facts.assumed == {"N": 4096}


SCORES = """
@T.prim_func(s_tir=True)
def scores(a: T.handle, b: T.handle, c: T.handle):
    batch = T.int32()
    seq_len = T.int32()
    A = T.match_buffer(a, (batch, seq_len, 4096), "float32")
    B = T.match_buffer(b, (batch, seq_len, 4096), "float32")
    C = T.match_buffer(c, (batch, seq_len), "float32")
    for i, m, n, k in T.grid(batch, seq_len, seq_len, 4096):
        with T.sblock("update"):
            C[i, m] = C[i, m] + A[i, m, k] * B[i, n, k]
"""


def test_assumed_sizes_are_not_of_more_work_than_kernels_do(run_tvm: Run) -> None:
    facts = _only(run_tvm(TVM + SCORES))
    work = facts.assumed["batch"] * facts.assumed["seq_len"] ** 2 * 4096
    assert 1e9 < work < 5e12


GROUPED = """
from tvm.relax.frontend.nn import Tensor, op

def grouped(x: Tensor, w: Tensor, tile: int = 64):
    groups, columns, k = w.shape

    @T.prim_func(s_tir=True)
    def scale(A: T.Buffer((x.shape[0], k), "float32"), B: T.Buffer((x.shape[0], k), "float32")):
        for i, j in T.grid(x.shape[0], k):
            with T.sblock("scale"):
                B[i, j] = A[i, j] * 2.0

    def schedule():
        sch = tvm.s_tir.Schedule(scale)
        sch.bind(sch.get_loops(sch.get_sblock("scale"))[0], "blockIdx.x")
        return sch.mod["main"]

    return op.tensor_ir_op(schedule(), "grouped", args=[x], out=x)
"""


def test_a_schedule_inside_a_function_of_arrays_is_given_arrays(run_tvm: Run) -> None:
    result = run_tvm("import tvm\n" + TVM + GROUPED)
    assert result.kernels and not result.problems
    shapes = {buffer.shape for facts in result.kernels for buffer in facts.buffers}
    assert shapes == {(4096, 4096)}


def test_all_required_calls_are_analysed(run_tilelang: Run) -> None:
    calls = ("add(256)", "add(N=512)", "add('x', 1, 2, 3)")
    directives = "".join(f"# tirlens: {call}\n" for call in calls)
    result = run_tilelang(TILELANG + directives + LAZY.format(rest=""))
    assert [facts.call for facts in result.kernels] == ["add(256)", "add(N=512)"]
    (problem,) = result.problems
    assert problem.kind == "directive"
    assert "add('x', 1, 2, 3)" in problem.message


def test_a_kernel_without_plausible_arguments_names_them(run_tilelang: Run) -> None:
    text = TILELANG + LAZY.format(rest="").replace("N, ", "N, table, ").replace(
        "    @T.prim_func", "    table['x'].frob()\n    @T.prim_func"
    )
    result = run_tilelang(text)
    assert (result.kernels, result.problems) == ((), ())
    (needs,) = result.needs
    assert needs.kernel == "add"
    assert needs.names == ("N", "table")
    assert needs.reason


def test_nothing_is_compiled_or_run(run_tilelang: Run) -> None:
    text = (
        TILELANG
        + LAZY.format(rest="")
        + """
kernel = add(1024)
out = kernel(1, 2)
source = kernel.get_kernel_source()
"""
    )
    facts = _only(run_tilelang(text))
    assert facts.call == "add(1024)"


FLAT = """
@T.prim_func(s_tir=True)
def scale(A: T.Buffer((64,), "float32")):
    for i in T.serial(64):
        A[i] = A[i] * T.float32(2)
"""
MODULE = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def first(A: T.Buffer((64,), "float32")):
        for i in T.serial(64):
            A[i] = T.float32(1)

    @T.prim_func(s_tir=True)
    def second(A: T.Buffer((32,), "float32")):
        for i in T.serial(32):
            A[i] = T.float32(2)
"""
LOCAL = """
def test_scale(size=16):
    half = size // 2
    @I.ir_module
    class Before:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((half,), "float32")):
            for i in T.serial(half):
                A[i] = T.float32(0)
    compare(Before)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FLAT, [("scale", (64,))]),
        (MODULE, [("first", (64,)), ("second", (32,))]),
        (LOCAL, [("main", (8,))]),
    ],
)
def test_tvm_defines(run_tvm: Run, text: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    result = run_tvm(TVM + text)
    assert (result.problems, result.needs) == ((), ())
    assert [(facts.name, facts.buffers[0].shape) for facts in result.kernels] == expected


def test_tvm_factory_and_specialisation(run_tvm: Run) -> None:
    text = (
        "from __future__ import annotations\n"
        + TVM
        + """
def make(n, dtype):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((n,), dtype)):
        for i in T.serial(n):
            A[i] = T.Cast(dtype, 0)
    return main

@T.jit(is_stir=True)
def add(A: T.Buffer((N,), "float32"), *, N: T.constexpr):
    for i in T.serial(N):
        A[i] = T.float32(1)
"""
    )
    result = run_tvm(text)
    assert (result.problems, result.needs) == ((), ())
    calls = {facts.definition: facts.call for facts in result.kernels}
    assert calls["make"] == 'make(4194304, dtype="float16")'
    assert calls["add"] == "add.specialize(N=4194304)"


def test_the_unsaved_text_is_what_is_read(run_tvm: Run) -> None:
    first = run_tvm(TVM + FLAT)
    second = run_tvm(TVM + FLAT.replace("64", "128"))
    assert _only(first).buffers[0].shape == (64,)
    assert _only(second).buffers[0].shape == (128,)


def test_a_dialect_imported_under_its_alias_is_not_loaded_twice(run_tvm: Run) -> None:
    """A second copy of TVM's script builder would not know the loops of the first."""
    text = (
        TVM.replace("\n", "\nfrom tvm.script.tirx import tile as Tx\n", 1)
        + """
@T.prim_func
def fill(A: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        A[i, j] = 0.0
"""
    )
    assert _only(run_tvm(text)).name == "fill"
    assert _only(run_tvm(text + "\n")).name == "fill"


def test_a_function_that_makes_a_jitted_one_is_called_twice(run_tilelang: Run) -> None:
    inner = LAZY.format(rest="").replace("\n", "\n    ").replace(", block=128", "")
    text = "\ndef build(block):" + inner + "\n    return add\n"
    facts = _only(run_tilelang(TILELANG + text))
    assert (facts.call, facts.call_source) == ("build(64)(4096)", "assumed")
    assert facts.assumed_arguments == {"block": "64", "N": "4096"}


def test_the_constants_of_an_inner_eager_kernel_are_assumed_too(run_tilelang: Run) -> None:
    inner = EAGER.replace("\n", "\n    ").replace(", block: int = 128", "")
    text = "\ndef build(double):" + inner + "\n    return add\n\nkernel = build(True)\n"
    facts = _only(run_tilelang(TILELANG + text))
    assert (facts.call, facts.call_source) == ("build(True)(N=4096)", "assumed")
    assert facts.assumed_arguments == {"N": "4096"}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            LAZY.replace("threads=128", "is_npu=True").format(rest=""),
            9,
            "this is a program for tilelang-ascend, for Huawei's Ascend NPUs: is_npu is not in",
        ),
        (
            LAZY.replace("T.Parallel(128)", "T.serial_npu(128)").format(rest=""),
            10,
            "this is a program for tilelang-mlir-ascend, for Huawei's Ascend NPUs: serial_npu",
        ),
        (
            LAZY.replace("@tilelang.jit", "@tilelang.jit(workspace_idx=1)").format(rest=""),
            4,
            "this is a program for tilelang-ascend, for Huawei's Ascend NPUs: workspace_idx is",
        ),
        (
            LAZY.replace("T.Parallel(128)", "T.of_a_later_version(128)").format(rest=""),
            10,
            r"tilelang [\d.]+ has no tilelang.language.of_a_later_version: the file is for",
        ),
    ],
)
def test_a_name_of_a_fork_or_version_is_told_where_it_stands_and_no_arguments_are_asked_for(
    run_tilelang: Run, text: str, line: int, message: str
) -> None:
    result = run_tilelang(TILELANG + text)
    (problem,) = result.problems
    assert (result.kernels, result.needs) == ((), ())
    assert re.match(message, problem.message)
    assert problem.span is not None
    assert problem.span.line == line


FOR_A_TARGET = """
import tvm

def build(target: tvm.target.Target, scaling: {annotation}):
    threads = min(512, int(target.max_num_threads))
    scale = scaling.get("factor", 2.0)

    @T.prim_func(s_tir=True)
    def twice(A: T.Buffer((threads,), "float32")):
        for i in T.thread_binding(threads, thread="threadIdx.x"):
            A[i] = A[i] * T.float32(scale)

    @T.prim_func(s_tir=True)
    def plus(A: T.Buffer((threads,), "float32")):
        for i in T.thread_binding(threads, thread="threadIdx.x"):
            A[i] = A[i] + T.float32(scale)

    return twice, plus
"""


def test_a_target_and_a_table_are_assumed_and_each_function_has_its_own_line(
    run_tvm: Run,
) -> None:
    text = TVM + FOR_A_TARGET.format(annotation="dict")
    twice, plus = run_tvm(text).kernels
    assert twice.call == 'build(target=tvm.target.Target("cuda"), scaling={})'
    assert [one.buffers[0].shape for one in (twice, plus)] == [(512,), (512,)]
    lines = text.splitlines()
    assert [lines[one.span.line - 1].strip()[:9] for one in (twice, plus)] == [
        "def twice",
        "def plus(",
    ]


def test_a_name_that_no_argument_gives_is_told_where_it_is_used(run_tilelang: Run) -> None:
    star = "from tilelang.autotuner import *\n"
    text = TILELANG + star + PLAIN.replace("T.Kernel(", "launched(").format(rest="")
    (problem,) = run_tilelang(text).problems
    assert problem.message == (
        "NameError: name 'launched' is not defined "
        "('from tilelang.autotuner import *' does not bring it in this version)"
    )
    assert problem.span is not None
    assert text.splitlines()[problem.span.line - 1].strip().startswith("with launched(")


WRAPPED = """
def simplified(make):
    def wrapper(*args, **kwargs):
        return make(*args, **kwargs)
    return wrapper

@simplified"""


def test_the_parameters_of_a_factory_behind_a_wrapper(run_tilelang: Run) -> None:
    facts = _only(run_tilelang(TILELANG + WRAPPED + PLAIN.format(rest=", *, scale: float = 2.0")))
    assert (facts.call, facts.call_source) == ("add(4194304)", "assumed")


FOR_ARRAYS = """
from tvm.relax.frontend.nn import Tensor, op

class Twice:
    def apply(self, x: Tensor, indptr: Tensor) -> Tensor:
        (rows, features), dtype = x.shape, x.dtype
        assert indptr.shape == [rows + 1] and indptr.dtype == "int32"

        @T.prim_func(private=True, s_tir=True)
        def twice(x: T.Buffer((rows, features), dtype), o: T.Buffer((rows, features), dtype)):
            for i, j in T.grid(rows, features):
                o[i, j] = x[i, j] * T.cast(2, dtype)

        return op.tensor_ir_op(twice, "twice", args=[x], out=Tensor.placeholder(x.shape, dtype))
"""


def test_a_method_that_hands_its_kernel_to_a_graph_is_given_arrays(run_tvm: Run) -> None:
    facts = _only(run_tvm(TVM + FOR_ARRAYS))
    assert facts.call == (
        'Twice().apply(x=Tensor.placeholder([4096, 4096], "float16"), '
        'indptr=Tensor.placeholder([4097], "int32"))'
    )
    assert [buffer.shape for buffer in facts.buffers] == [(4096, 4096)] * 2


VERSION = """
@T.prim_func
def scale(A: T.Buffer(({size},), "float32")):
    for i in T.serial({size}):
        A[i] = A[i] * {factor}
"""


def test_versions_of_a_kernel_with_one_name_are_told_apart(run_tvm: Run) -> None:
    small = VERSION.format(size=8, factor="T.float32(2)")
    wrong = VERSION.format(size=16, factor="no_such_factor")
    large = VERSION.format(size=32, factor="T.float32(2)")
    text = "from tvm.script import tirx as T\n" + small + wrong + large
    result = run_tvm(text)
    assert [one.buffers[0].shape for one in result.kernels] == [(8,), (32,)]
    assert [one.span.line for one in result.kernels] == [4, 14]
    (problem,) = result.problems
    assert problem.span is not None
    assert (problem.span.line, "no_such_factor" in problem.message) == (11, True)


def test_versions_of_a_factory_have_parameters_of_their_own(run_tvm: Run) -> None:
    factory = """
def make({parameters}):
    @T.prim_func
    def main(A: T.Buffer(({shape}), "float32")):
        A[{zeros}] = T.float32(0)
    return main
"""
    text = "from tvm.script import tirx as T\n"
    text += factory.format(parameters="n=8", shape="n,", zeros="0")
    text += factory.format(parameters="rows, n=16", shape="rows, n", zeros="0, 0")
    first, second = run_tvm(text).kernels
    assert (first.call, first.buffers[0].shape) == ("make()", (8,))
    assert (second.call_source, second.buffers[0].shape[1]) == ("assumed", 16)


def test_a_value_that_means_the_default_is_no_number_of_blocks(run_tvm: Run) -> None:
    text = (
        TVM
        + """
def build(num_sms):
    @T.prim_func
    def copy(A: T.Buffer((4096, 128), "float32"), B: T.Buffer((4096, 128), "float32")):
        T.device_entry()
        block = T.cta_id([num_sms])
        thread = T.thread_id([128])
        for i in T.serial(16):
            B[block + i * num_sms, thread] = A[block + i * num_sms, thread]
    return copy

def get_kernel(num_sms=0):
    return build(num_sms)
"""
    )
    facts = _only(run_tvm(text))
    assert facts.call == "build(132)"


def test_what_a_call_registers_is_there(run_tvm: Run) -> None:
    text = (
        TVM
        + """
class Sizes(dict):
    def register(self, name, value):
        self[name] = value

SIZES = Sizes()
SIZES.register("rows", 512)

@T.prim_func
def fill(A: T.Buffer((SIZES["rows"],), "float32")):
    for i in T.serial(512):
        A[i] = T.float32(0)
"""
    )
    assert _only(run_tvm(text)).buffers[0].shape == (512,)

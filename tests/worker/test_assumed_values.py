"""The values that are assumed for parameters by their names and their type hints."""

import ast
import enum
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from tirlens_worker.tracing.assumed_values import (
    Parameter,
    attempts,
    by_name,
    plausible_values,
    size,
)
from tirlens_worker.tracing.listed_values import (
    choices_of,
    codes_of,
    constants_of,
    flags_of,
    lengths_of,
)
from tirlens_worker.tracing.name_meanings import MEANINGS, Meaning, meaning_of


@dataclass(frozen=True)
class _Dtype:
    """A dtype of torch, as its name."""

    name: str

    def __repr__(self) -> str:
        return self.name


@pytest.mark.parametrize("meaning", MEANINGS, ids=lambda one: one.meaning)
def test_a_meaning_is_that_of_its_examples(meaning: Meaning) -> None:
    assert meaning.examples
    assert [meaning_of(name) for name in meaning.examples] == [meaning] * len(meaning.examples)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("M", "4096"),
        ("N", "4096"),
        ("seq_len", "4096"),
        ("seqlen_kv", "4096"),
        ("batch", "8"),
        ("n_expand", "4"),
        ("sinkhorn_repeat", "10"),
        ("heads", "32"),
        ("num_heads", "32"),
        ("head_kv", "8"),
        ("dim", "128"),
        ("head_dim", "128"),
        ("D", "128"),
        ("block_M", "128"),
        ("BLOCK_N", "128"),
        ("block_size", "64"),
        ("chunk_size", "64"),
        ("block_K", "32"),
        ("threads", "128"),
        ("num_threads", "128"),
        ("num_stages", "2"),
        ("dtype", '"float16"'),
        ("in_dtype", '"float16"'),
        ("accum_dtype", '"float32"'),
        ("is_causal", "False"),
        ("trans_A", "False"),
        ("topk", "8"),
        ("split_k", "4"),
        ("group_size", "128"),
        # A parameter that must be given is used, and a product with 1 would not be there.
        ("sm_scale", "0.125"),
        ("log2e_scale", "0.125"),
        ("alpha", "0.5"),
        ("seqlen_dtype", '"int32"'),
        ("offsets_dtype", '"int32"'),
        ("Hg", "8"),
        ("hc", "4"),
        ("store_final_state", "False"),
        ("no_mask", "False"),
        ("hasZ", "False"),
        ("HV", "32"),
        ("pool_s", "2"),
        ("downsample_len", "4096"),
        ("dout_size", "4096"),
        ("norm_size", "4096"),
    ],
)
def test_the_first_value_by_name(name: str, first: str) -> None:
    assert by_name(name)[0] == first


@pytest.mark.parametrize(
    ("name", "beside", "first"),
    [
        ("K", ("B", "H", "V"), "128"),
        ("K", ("H", "BT"), "128"),
        ("K", ("M", "N", "H"), "4096"),
        ("K", ("M", "N"), "4096"),
        ("K", ("IC", "OC", "IH", "IW", "st"), "3"),
        ("N", ("S", "H", "D"), "8"),
        ("N", ("B", "S", "H"), "4096"),
        ("N", ("H", "D"), "4096"),
        ("N", ("B", "S", "H", "G", "P", "R"), "128"),
        ("P", ("B", "S", "H", "G", "N", "R"), "64"),
        ("R", ("B", "S", "H", "G", "N", "P"), "4"),
        ("BS", ("T", "S", "D"), "8"),
        ("BS", ("H", "K", "V", "BT"), "64"),
        ("BT", ("H", "K", "V", "BS"), "64"),
        ("NK", ("K", "BK", "BT"), "4"),
        ("NV", ("V", "BV", "BT"), "2"),
        ("hD1", ("K", "V"), "128"),
        ("k", ("scores",), "8"),
        ("K", ("N", "CI", "HI", "WI", "CO"), "3"),
        ("K", ("batch", "Lin", "Cin", "Cout", "stride"), "3"),
        ("N", ("C", "D_in", "H_in", "W_in"), "8"),
        ("D_in", ("N", "C", "H_in", "W_in"), "16"),
        ("H_in", ("N", "C", "D_in", "W_in"), "64"),
        ("kh", ("kd", "kw", "cin"), "3"),
        ("kh", ("d",), "8"),
        ("dim", ("shape",), "1"),
        ("pool_kernel", ("batch_size", "in_features"), "2"),
        ("k", ("M", "N", "x"), "4096"),
    ],
)
def test_a_letter_means_what_those_beside_it_make_of_it(
    name: str, beside: tuple[str, ...], first: str
) -> None:
    assert by_name(name, others=(name, *beside))[0] == first


@pytest.mark.parametrize(
    ("name", "hints", "wanted"),
    [
        ("num_tokens", {}, 4096),
        ("batch_size", {}, 8),
        ("num_tokens", {"num_tokens": ("-1", '"auto"', "640")}, 640),
        ("frobnicate", {}, None),
        ("frobnicate", {"frobnicate": ("12",)}, 12),
        ("batch_plus_one", {}, 9),
        ("n_seq_plus_one", {}, 9),
        ("num_seqs_p1", {}, 9),
    ],
)
def test_a_size_is_that_of_the_file_or_of_the_name_or_none(
    name: str, hints: dict[str, tuple[str, ...]], wanted: int | None
) -> None:
    assert size(name, hints) == wanted


def test_a_dimension_means_what_those_beside_it_make_of_it() -> None:
    assert [size(name, {}, "nchw") for name in "nchw"] == [8, 128, 64, 64]
    assert size("n", {}, "mnk") == 4096
    assert size("m", {}, "m", "GemvScheduler.build") == 1


def test_a_product_with_a_vector_has_one_row() -> None:
    assert by_name("M", others=("M", "N", "K"), context="gemv_int4 kernels.py")[0] == "1"
    # The rows of the matrix.
    assert by_name("M", others=("M", "N"), context="gemv kernels.py")[0] == "4096"


def test_every_value_is_an_expression() -> None:
    for name in ("M", "dtype", "eps", "window_size", "frobnicate", "out_idx"):
        for text in by_name(name):
            ast.parse(text, mode="eval")


@pytest.mark.parametrize(
    ("hint", "first"),
    [
        (bool, "False"),
        (float, "1.0"),
        (int, "128"),
        (dict, "{}"),
        ("Dict", "{}"),
        ("Target", 'Target("cuda")'),
        ("tvm.target.Target", 'tvm.target.Target("cuda")'),
    ],
)
def test_a_type_hint_decides_for_an_unknown_name(hint: type | str, first: str) -> None:
    assert by_name("frobnicate", hint)[0] == first


def test_a_binding_holds_in_every_attempt() -> None:
    tried = list(attempts([Parameter("M"), Parameter("block_M")], {"M": ("512",)}, {"M": 100}))
    assert 1 < len(tried) <= 16
    assert {attempt["M"] for attempt in tried} == {"100"}


def test_the_file_goes_before_the_table_and_attempts_differ() -> None:
    tried = list(attempts([Parameter("M"), Parameter("dim")], {"dim": ("96",)}, {}))
    assert tried[0] == {"M": "4096", "dim": "96"}
    assert {"M": "4096", "dim": "128"} in tried
    assert len({tuple(attempt.items()) for attempt in tried}) == len(tried)


def test_optional_parameters_are_left_alone_at_first() -> None:
    tried = list(attempts([Parameter("M"), Parameter("block_M", None, True)], {}, {}))
    assert tried[0] == {"M": "4096"}
    assert any("block_M" in attempt for attempt in tried)


def test_without_parameters_there_is_one_attempt() -> None:
    assert list(attempts([], {}, {})) == [{}]


def test_names_of_an_eager_kernel_are_found() -> None:
    text = 'def f(A):\n    M, N = T.const("M, N")\n    K = T.const("K")\n'
    assert constants_of(ast.parse(text)) == ("M", "N", "K")


def test_what_a_function_asks_for_is_a_flag_unless_its_name_says_more() -> None:
    text = """
def make(reduceO, first, window_size, M, scale):
    shape = (M,) if reduceO and not first else (M, 2)
    if window_size:
        pass
    if scale is None or M > 2:
        pass
"""
    assert flags_of(ast.parse(text)) == {"reduceO", "first", "window_size"}
    assert by_name("reduceO", "flag") == ("False", "True")
    assert by_name("window_size", "flag") == by_name("window_size")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('def f(mode):\n    assert mode in ("max", "min")', {"mode": ('"max"', '"min"')}),
        (
            "def f(bits):\n    if bits not in [4, 8]:\n        raise ValueError",
            {"bits": ("4", "8")},
        ),
        (
            'def f(op):\n    if op == "sum": pass\n    elif op == "max": pass',
            {"op": ('"sum"', '"max"')},
        ),
        ('def f(op: Literal["add", "mul"]): pass', {"op": ('"add"', '"mul"')}),
        ("def f(op_func):\n    return op_func(1)", {"op_func": ("lambda x, *_: x",)}),
        ("def f(kind):\n    return KINDS[kind]", {"kind": ('"wide"', '"tall"')}),
        ('def f(kind):\n    return {"a": 1, "b": 2}[kind]', {"kind": ('"a"', '"b"')}),
        ("def f(kind):\n    assert kind in KINDS", {"kind": ('"wide"', '"tall"')}),
        ("def f(mode: Optional[Mode] = None): pass", {"mode": ("Mode.FAST", "Mode.EXACT")}),
        # A size that is compared with a number is not that number.
        ("def f(M):\n    if M == 1: pass", {}),
        ("def f(M, names):\n    assert M in names", {}),
    ],
)
def test_values_that_a_definition_lists(text: str, expected: dict[str, tuple[str, ...]]) -> None:
    namespace = {"KINDS": {"wide": 1, "tall": 2}, "Mode": enum.Enum("Mode", "FAST EXACT")}
    assert choices_of(ast.parse(text), namespace) == expected


def test_keys_that_are_dtypes_of_torch_are_written_as_in_the_module() -> None:
    torch = SimpleNamespace()
    torch.float16 = _Dtype("torch.float16")
    function = ast.parse("def f(torch_dtype):\n    dtype = NAMES[torch_dtype]\n")
    namespace = {"NAMES": {torch.float16: "float16"}, "torch": torch}
    assert choices_of(function, namespace) == {"torch_dtype": ("torch.float16",)}
    assert choices_of(function, {"NAMES": {torch.float16: "float16"}}) == {}


@pytest.mark.skipif(sys.version_info < (3, 10), reason="match statements")
def test_the_texts_of_a_match_statement() -> None:
    text = 'def f(op):\n    match op:\n        case "sum" | "max": pass\n'
    assert choices_of(ast.parse(text)) == {"op": ('"sum"', '"max"')}


def test_a_name_that_is_compared_with_several_numbers_has_one_of_them() -> None:
    text = "def f(kind, M):\n    if kind == 2: pass\n    elif kind == 0: pass\n    M == 1\n"
    assert codes_of(ast.parse(text)) == {"kind": ("0", "2")}
    codes = ("0", "2")
    (first, *_) = attempts([Parameter("scoring_type", int, codes=codes)], {}, {})
    assert first == {"scoring_type": "0"}
    (first, *_) = attempts([Parameter("heads", int, codes=codes)], {}, {})
    assert first == {"heads": "32"}


@pytest.mark.parametrize(
    ("name", "annotation", "context", "first"),
    [
        ("scoring_type", int, "", "128"),
        ("M", "str", "", '"float16"'),
        ("dtype", "torch.dtype", "", "torch.float16"),
        ("dtype", "T.dtype", "", 'T.dtype("float16")'),
        ("dtype", None, "gemm_fp8.py", '"float8_e4m3fn"'),
        ("out_dtype", None, "matmul_float8", '"bfloat16"'),
        ("in_dtype", None, "matmul", '"float16"'),
        ("accum_dtype", None, "gemm_fp8", '"float32"'),
        ("total_q", int, "", "8192"),
    ],
)
def test_type_and_context_decide_among_the_values_of_a_name(
    name: str, annotation: type | str | None, context: str, first: str
) -> None:
    assert by_name(name, annotation, context=context)[0] == first


def test_listed_values_come_before_those_of_the_name_and_bound_those_of_the_file() -> None:
    listed = Parameter("op_kind", choices=('"sum"', '"max"'))
    tried = list(attempts([listed], {"op_kind": ('"other"', '"max"')}, {}))
    assert [values["op_kind"] for values in tried] == ['"max"', '"sum"']


def test_the_smallest_values_are_tried_together() -> None:
    tried = list(attempts([Parameter("N"), Parameter("block_M"), Parameter("dim_k")], {}, {}))
    assert {"N": "1024", "block_M": "32", "dim_k": "64"} in tried[:4]


def test_smaller_blocks_than_those_of_the_file_are_tried_with_its_threads() -> None:
    """The file's values are of several kernels, and an assertion may admit no other threads."""
    parameters = [Parameter("block_m"), Parameter("block_n"), Parameter("threads")]
    hints = {"block_m": ("128",), "block_n": ("256",), "threads": ("384",)}
    tried = list(attempts(parameters, hints, {}))
    smaller = {"block_m": "64", "block_n": "128", "threads": "384"}
    assert tried.index(smaller) == 1


def test_blocks_of_few_rows_are_tried_last() -> None:
    *_, last = attempts([Parameter("block_m"), Parameter("threads")], {}, {})
    assert last == {"block_m": "8", "threads": "128"}


def test_large_sizes_are_divided() -> None:
    parameters = [Parameter("M"), Parameter("block_M"), Parameter("N")]
    first = next(attempts(parameters, {}, {"N": 4096}, 16))
    assert first == {"M": "256", "block_M": "128", "N": "4096"}


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("return p[0] + p[1]", {"p": 2}),
        ("a, b, c = p", {"p": 3}),
        ("return T.grid(*p), len(q)", {"p": 2, "q": 2}),
        # An array, and a dict.
        ("return p.shape[0] + p[0]", {}),
        ("return p['height']", {}),
    ],
)
def test_tuples_of_sizes_are_known_by_their_use(body: str, wanted: dict[str, int]) -> None:
    assert lengths_of(ast.parse(f"def f(p, q):\n    {body}")) == wanted


def test_a_tuple_has_the_values_of_its_name() -> None:
    assert plausible_values(Parameter("block_size", length=2), ())[0] == "(64, 64)"
    assert plausible_values(Parameter("block_size", length=1), ())[0] == "(64,)"


def test_a_tuple_of_sizes_has_no_none() -> None:
    """TVM 0.27 ends with SIGSEGV on a buffer with the shape ``(n, None)``."""
    values = plausible_values(Parameter("shape", length=2), ())
    assert values == ("(128, 128)", "(1, 1)")

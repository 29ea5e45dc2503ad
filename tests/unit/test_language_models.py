"""The sizes of language models: the files, what names mean, and which model a kernel gets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from tirlens import language_models, pipeline, source
from tirlens.language_models import KernelNames, UnknownModelError, fitting_models, mentions
from tirlens.pipeline.model_sizes import FileMentions
from tirlens_worker.facts import ModelSizes, Span
from tirlens_worker.protocol import KernelRequest
from tirlens_worker.tracing.assumed_values import Parameter
from tirlens_worker.tracing.model_attempts import attempts_with_models, sizes_of_model

_ADDRESS = re.compile(r"https://(huggingface\.co|github\.com)/\S+")


@pytest.mark.parametrize("model_id", language_models.model_ids())
def test_each_file_names_its_source(model_id: str) -> None:
    model = language_models.load(model_id)
    assert model.id == model_id
    assert _ADDRESS.fullmatch(model.source)
    assert _ADDRESS.fullmatch(model.read_at)
    assert model.words
    assert all(type(size) is int and size > 0 for size in model.sizes.values())
    sizes = model.sizes
    heads, kv_heads = sizes.get("num_attention_heads", 1), sizes.get("num_key_value_heads", 1)
    assert heads % kv_heads == 0
    assert sizes.get("num_experts_per_tok", 0) <= sizes.get("num_experts", 0)
    assert sizes["hidden_size"] % 64 == 0


# The sizes of public configurations that several papers and blogs state, as a check of the files.
@pytest.mark.parametrize(
    ("model_id", "sizes"),
    [
        ("deepseek-v3.2", {"num_attention_heads": 128, "kv_lora_rank": 512, "index_topk": 2048}),
        ("qwen3-32b", {"num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128}),
        ("mixtral-8x7b", {"num_experts": 8, "num_experts_per_tok": 2, "hidden_size": 4096}),
        ("kimi-k2", {"num_experts": 384, "num_experts_per_tok": 8, "num_attention_heads": 64}),
        ("llama-3.1-8b", {"intermediate_size": 14336, "vocab_size": 128256}),
    ],
)
def test_well_known_sizes(model_id: str, sizes: Mapping[str, int]) -> None:
    own = language_models.load(model_id).sizes
    assert {name: own[name] for name in sizes} == sizes


def test_an_unknown_model_is_named_with_similar_ones() -> None:
    with pytest.raises(UnknownModelError, match="did you mean qwen3-32b"):
        language_models.load("qwen-32b")


@dataclass(frozen=True)
class Case:
    """A kernel's names and words, what is known, and the model and values that it gets."""

    names: str
    words: str
    model: str | None
    values: Mapping[str, int] = field(default_factory=dict[str, int])
    known: Mapping[str, int] = field(default_factory=dict[str, int])
    path: str = ""


CASES = {
    "latent attention": Case(
        "batch heads seq_len dim tail_dim topk kv_group",
        "sparse_attention_fwd",
        "deepseek-v3.2",
        {"heads": 128, "dim": 512, "tail_dim": 64, "topk": 2048, "kv_group": 1},
    ),
    "the heads that the text gives are of another model": Case(
        "heads dim tail_dim topk",
        "sparse_mla",
        "glm-5",
        {"heads": 64, "dim": 512, "tail_dim": 64, "topk": 2048},
        {"heads": 64, "topk": 2048},
    ),
    "a folder names the model": Case(
        "heads index_dim",
        "indexer",
        "glm-5",
        {"heads": 32, "index_dim": 128},
        path="models/glm5/ops.py",
    ),
    "the indexer's heads are not those of attention": Case(
        "heads index_dim topk",
        "fp8_lighting_indexer",
        "deepseek-v3.2",
        {"heads": 64, "index_dim": 128, "topk": 2048},
    ),
    "tokens that an indexer selects, of the model with heads of this width": Case(
        "b m n h d topk",
        "sparse_attn_kernel/kernel",
        "deepseek-v4-flash",
        {"h": 64, "d": 512, "topk": 512},
        {"d": 512},
    ),
    "blocks that are selected are no tokens": Case(
        "b heads dim topk", "block_sparse_attn", "llama-3.1-8b", {"heads": 32, "dim": 128}
    ),
    "letters of a mixture of experts": Case(
        "E K H I",
        "down_kernel/moe",
        "deepseek-v3.2",
        {"E": 256, "K": 8, "H": 7168, "I": 2048},
    ),
    "letters of a product of each expert": Case(
        "N K num_experts", "grouped_gemm/moe", "deepseek-v3.2", {"num_experts": 256}
    ),
    "the width of a gated product": Case(
        "inter sf_block", "swiglu_quant/moe", "deepseek-v3.2", {"inter": 2048}
    ),
    "the letter of the width of a gated product": Case(
        "I N BN BK SK", "gemv_silu/kernels", "qwen3-1.7b", {"I": 6144}, path="qwen3_1_7b/kernels.py"
    ),
    "a model whose layers all have experts": Case(
        "inter sf_block",
        "quant/swiglu",
        "deepseek-v4-flash",
        {"inter": 2048},
        path="deepseek-v4-flash/quant/swiglu.py",
    ),
    "experts": Case(
        "num_topk num_experts num_sms",
        "get_aux_fi_kernel/moe",
        "deepseek-v3.2",
        {"num_topk": 8, "num_experts": 256},
    ),
    "known numbers of experts": Case(
        "num_experts top_k hidden",
        "router",
        "mixtral-8x7b",
        {"num_experts": 8, "top_k": 2, "hidden": 4096},
        {"num_experts": 8, "top_k": 2},
    ),
    "grouped queries": Case(
        "batch heads heads_kv seq_len dim",
        "gqa_fwd",
        "llama-3.1-8b",
        {"heads": 32, "heads_kv": 8, "dim": 128},
    ),
    "an equal part of the heads": Case(
        "heads heads_kv dim",
        "decode/qwen3",
        "qwen3-32b",
        {"heads": 8, "heads_kv": 1, "dim": 128},
        {"heads": 8},
        path="qwen3_32b/decode.py",
    ),
    "state-space models": Case(
        "batch seqlen chunk_size ngroups nheads headdim dstate",
        "chunk_scan_fwd",
        "mamba2-2.7b",
        {"chunk_size": 256, "ngroups": 1, "nheads": 80, "headdim": 64, "dstate": 128},
    ),
    "gated delta rules": Case(
        "B S H DK DV", "chunk_delta_h/gdn", "qwen3.5-35b-a3b", {"H": 32, "DK": 128, "DV": 128}
    ),
    "linear attention by the names together": Case(
        "H K V BT BC in_dtype", "chunk_h_fwd", "qwen3.5-35b-a3b", {"H": 32, "K": 128, "V": 128}
    ),
    "attention in the notation of linear attention": Case(
        "B HQ H K V BT BS",
        "parallel_attn_fwd",
        "llama-3.1-8b",
        {"HQ": 32, "H": 8, "K": 128, "V": 128},
    ),
    "a product with K and no V": Case("M N K block_M", "gemm", None),
    "RWKV": Case("B T H K BT", "rwkv6/chunk_fwd_intra", "rwkv7-2.9b", {"H": 40, "K": 64}),
    "RWKV without heads": Case("M N K", "rwkv/linear", None),
    "transformers' name of an architecture": Case(
        "heads index_dim",
        "indexer",
        "glm-5",
        {"heads": 32, "index_dim": 128},
        path="models/glm_moe_dsa/kernels/indexer.py",
    ),
    "scores of a vocabulary": Case("M N", "cross_entropy_fwd", "llama-3.1-8b", {"N": 128256}),
    "classes": Case("N C", "cross_entropy", "llama-3.1-8b", {"C": 128256}),
    "a projection to the vocabulary": Case(
        "M N K", "lm_head", "llama-3.1-8b", {"N": 128256, "K": 4096}
    ),
    "the best k of a vocabulary": Case(
        "batch vocab_size k", "top_k_top_p", "llama-3.1-8b", {"vocab_size": 128256}
    ),
    "rows alone": Case("N", "cross_entropy", None),
    "hyper-connections": Case(
        "hc hidden n_thr", "mhc_post", "deepseek-v4-flash", {"hc": 4, "hidden": 4096}
    ),
    "M and N mean nothing in particular": Case("M N", "rms_norm", None),
    "no model has these sizes": Case("heads dim", "attention", None, known={"dim": 80}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_model_of_a_kernel(case: Case) -> None:
    names = KernelNames.of(tuple(case.names.split()), case.words)
    found = fitting_models(names, case.known, mentions(case.path))
    model, values = (found[0][0].id, found[0][1]) if found else (None, {})
    assert (model, values) == (case.model, case.values)


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("As in DeepSeek-V3.2 and dsv32.", ("deepseek-v3.2",)),
        ("DeepSeek V3", ("deepseek-v3",)),
        ("qwen3-32b, not Qwen3", ("qwen3-32b", "qwen3-8b")),
        ("Llama3.1-70B", ("llama-3.1-70b",)),
        ("gpt_oss", ("gpt-oss-120b",)),
        ("the number 5 of a plan; deepseek_v32048", ()),
    ],
)
def test_mentions(text: str, models: tuple[str, ...]) -> None:
    assert mentions(text) == models


_MLA = ModelSizes("deepseek-v3.2", {"heads": 128, "dim": 512, "topk": 2048})
_REQUEST = KernelRequest("mla", "factory", Span(1, 0, 1, 0), models=(_MLA,))
_PARAMETERS = [Parameter(name) for name in ("batch", "heads", "dim", "topk")]


def test_what_the_text_gives_is_not_the_models() -> None:
    request = replace(_REQUEST, hints={"heads": ("16",)}, bindings={"topk": 64})
    first = next(attempts_with_models(_PARAMETERS, request, divisor=16))
    assert first.values == {"batch": "8", "heads": "16", "dim": "512", "topk": "64"}
    assert first.model == ModelSizes("deepseek-v3.2", {"dim": 512})


def test_a_model_that_the_user_names_comes_before_the_text() -> None:
    chosen = replace(_MLA, is_chosen=True)
    request = replace(_REQUEST, hints={"heads": ("16",)}, models=(chosen,))
    first = next(attempts_with_models(_PARAMETERS, request))
    assert (first.values["heads"], first.model) == ("128", chosen)


@pytest.mark.parametrize(("known", "found"), [({"dim": 512}, {"heads": 128}), ({"dim": 128}, None)])
def test_dimensions_are_of_a_model_that_agrees(
    known: Mapping[str, int], found: Mapping[str, int] | None
) -> None:
    sizes = sizes_of_model(_REQUEST, None, ["heads", "seq"], known)
    assert (sizes and sizes.values) == found


TEXT = """
import tilelang
import tilelang.language as T
{directive}
@tilelang.jit
def attention(batch, heads, seq_len, dim):
    @T.prim_func
    def main(Q: T.Tensor((batch, seq_len, heads, dim), "float16")):
        pass
    return main

attention(1, 8, 128, 64)
"""


@pytest.mark.parametrize(
    ("directive", "options", "call"),
    [
        ("# tirlens: model=qwen3-32b", pipeline.Options(), "attention(1, 64, 128, 128)"),
        ("", pipeline.Options(model="llama-3.1-8b"), "attention(1, 32, 128, 128)"),
        ("# tirlens: model=qwen3-32b, dim=64", pipeline.Options(), "attention(1, 64, 128, 64)"),
        (
            "# tirlens: model=qwen3-32b",
            pipeline.Options(model="llama-3.1-8b", force_model=True),
            "attention(1, 32, 128, 128)",
        ),
        # It has none of the sizes of a kernel for state-space models.
        ("", pipeline.Options(model="mamba2-2.7b"), "attention(1, 8, 128, 64)"),
    ],
)
def test_the_calls_of_a_kernel_have_the_sizes_of_the_chosen_model(
    directive: str, options: pipeline.Options, call: str
) -> None:
    text = TEXT.format(directive=directive)
    request = pipeline.analysis_request(1, "a.py", text, source.read(text), options)
    assert request.kernels[0].candidates[0].expression == call


def test_a_directive_with_an_unknown_model_says_so() -> None:
    found = source.read(TEXT.format(directive="# tirlens: model=qwen-32b"))
    assert "did you mean qwen3-32b" in found.problems[0].message


def test_a_repository_may_have_the_name_of_its_model() -> None:
    path = "/home/deepseek-v4-flash-local/inference/kernels/quant/swiglu.py"
    assert FileMentions.of(path, "").in_path == ("deepseek-v4-flash",)

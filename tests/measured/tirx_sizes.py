"""What the launchers of mlc-ai/TIRx-kernels pass at run time, by the configuration measured.

A function here does the arithmetic of its module's `prepare_data` or `run_gpu`, which make tensors
on a GPU and so cannot be asked.  What the contents of an array decide is in none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Config = Mapping[str, Any]
Sizes = dict[str, int]
SMS = 148


def _ceildiv(value: int, by: int) -> int:
    return -(-value // by)


def _product(config: Config) -> Sizes:
    return {"shape_m": config["M"], "shape_n": config["N"], "shape_k": config["K"]}


def _contiguous(config: Config) -> Sizes:
    """Rows of all groups one behind the other, each group's padded to a whole tile."""
    from tirx_kernels.deepgemm._sm100_fp8_fp4_gemm_1d1d import spec

    groups = spec.make_aligned_ms(
        config["num_groups"],
        config["expected_m_per_group"],
        config["seed"],
        spec.get_theoretical_mk_alignment(),
    )
    return {"shape_m": sum(groups), "shape_n": config["N"], "shape_k": config["K"]}


def _masked(config: Config) -> Sizes:
    """An array of 4096 rows for each group, however many of them are used."""
    return {"shape_m": 4096, "shape_n": config["N"], "shape_k": config["K"]}


def _logits(config: Config) -> Sizes:
    """A block takes as many queries as make 128 rows with their heads."""
    queries = _ceildiv(config["seq_len"], 128 // config["num_heads"])
    return {"num_q_blocks": queries}


def _quantize(config: Config) -> Sizes:
    rows = config["m"]
    return {
        "m_rows": rows,
        "padded_rows": _ceildiv(rows, 128) * 128,
        "total_sf": rows * config["k"] // 32,
    }


def _decode(config: Config) -> Sizes:
    """Every sequence has as many tokens; none is left over."""
    return {"q_total": config["num_seqs"] * config["num_tokens"]}


def _prefill(config: Config) -> Sizes:
    lengths = config["seq_lens"]
    return {"num_sequences": len(lengths), "total_tokens": sum(lengths), "num_sms": SMS}


def _experts(config: Config) -> Sizes:
    return {
        "num_experts": config["n_experts"],
        "num_rows": config["n_experts"] * config["m"],
        "num_cols": config["k"],
        "use_silu_and_mul": 1,
    }


LAUNCHERS: dict[str, Callable[[Config], Sizes]] = {
    "deepgemm_sm100_fp8_gemm_1d1d": _product,
    "deepgemm_sm100_m_grouped_fp8_gemm_contiguous": _contiguous,
    "deepgemm_sm100_m_grouped_fp8_gemm_masked": _masked,
    "deepgemm_sm100_fp8_mqa_logits": _logits,
    "mxfp8_quantize": _quantize,
    "recurrent_kda_decode_grouped": _decode,
    "gdn_prefill_sm100": _prefill,
    "gdn_cp_prefill_sm100": _prefill,
    "silu_and_mul_nvfp4_experts_quantize": _experts,
}


def launched(operation: str, config: Config) -> Sizes:
    """The sizes that the launcher of `operation` passes, by the names of the parameters."""
    sizes = LAUNCHERS.get(operation)
    return {} if sizes is None else sizes(config)

"""What the launchers of mlc-ai/TIRx-kernels pass at run time, by the configuration measured.

A function here does the arithmetic of its module's `prepare_data` or `run_gpu`, which make tensors
on a GPU and so cannot be asked.  How often loops turn that the contents of an array decide, the
report asks for by the loop's name; `turned` gives the mean over the blocks, as these arrays are
filled for the measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


def _tiles(config: Config, rows: Sequence[int], whiles: Sequence[str]) -> Sizes:
    """Each role turns once a tile of 224 x 128, and looks for the group of each anew."""
    tiles = sum(_ceildiv(group, 224) for group in rows) * _ceildiv(config["N"], 128)
    return {name: 1 if number % 2 else _ceildiv(tiles, SMS) for number, name in enumerate(whiles)}


def _groups(config: Config, loops: Sequence[str], whiles: Sequence[str]) -> Sizes:
    from tirx_kernels.deepgemm._sm100_fp8_fp4_gemm_1d1d import spec

    rows = spec.make_actual_ms(config["num_groups"], config["expected_m_per_group"], config["seed"])
    return _tiles(config, rows, whiles)


def _seen(config: Config, loops: Sequence[str], whiles: Sequence[str]) -> Sizes:
    """Tiles of 256 keys that a query sees: all before it, or those of two chunks of two ranks."""
    queries, keys = config["seq_len"], config["seq_len_kv"]
    if config["disable_cp"]:
        mean = keys - queries // 2
    else:
        ranks, chunk = keys // queries, queries // 2
        rank = ranks // 3
        mean = (rank + (2 * ranks - 1 - rank) + 1) * chunk // 2
    return dict.fromkeys(loops, _ceildiv(mean, 256))


def _no_orphans(config: Config, loops: Sequence[str], whiles: Sequence[str]) -> Sizes:
    """All tokens belong to a sequence."""
    return dict.fromkeys(loops, 0)


def _half_full(config: Config, loops: Sequence[str], whiles: Sequence[str]) -> Sizes:
    """Each expert has any number of its rows, all alike likely; a thread takes 16 values."""
    from tirx_kernels.flashinfer.activation import silu_and_mul_nvfp4_experts_quantize as module

    grid, threads = module._launch_shape(config["n_experts"], config["m"], config["k"])
    values = (config["m"] + 1) // 2 * config["k"] * config["n_experts"]
    return dict.fromkeys(whiles, _ceildiv(values, 16 * grid * threads))


def _pages(config: Config, loops: Sequence[str], whiles: Sequence[str]) -> Sizes:
    """A plan gives every SM as many splits of 256 keys; there are half of the most on average."""
    longest = config["max_num_pages"] * config["page_size"]
    mean = longest if longest == config["page_size"] else longest // 2
    splits = config["batch_size"] * config["next_n"] * _ceildiv(mean, 256)
    return dict.fromkeys(whiles, _ceildiv(splits, SMS))


def _sequences(config: Config, loops: Sequence[str], whiles: Sequence[str]) -> Sizes:
    """A block takes one head of one sequence after the other."""
    work = len(config["seq_lens"]) * config["hv"]
    return dict.fromkeys(whiles, _ceildiv(work, min(work, SMS)))


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "//": int.__floordiv__,
    "min": min,
    "max": max,
}


def _trips(extent: Any, length: int) -> int:
    """A loop's trips for a sequence of `length` tokens, where data tell its start and end."""
    if not isinstance(extent, tuple):
        return int(extent)
    if extent[0] == "load":
        return 0 if extent[-1] == 0 else length
    parts = [_trips(part, length) for part in extent[1:]]
    return parts[0] if len(parts) == 1 else _OPERATORS[extent[0]](*parts)


TURNS: dict[str, Callable[[Config, Sequence[str], Sequence[str]], Sizes]] = {
    "deepgemm_sm100_m_grouped_fp8_gemm_contiguous": _groups,
    "deepgemm_sm100_m_grouped_fp8_gemm_masked": _groups,
    "deepgemm_sm100_fp8_mqa_logits": _seen,
    "recurrent_kda_decode_grouped": _no_orphans,
    "silu_and_mul_nvfp4_experts_quantize": _half_full,
    "deepgemm_sm100_fp4_paged_mqa_logits": _pages,
    "gdn_prefill_sm100": _sequences,
}

# Whose loops pass over a sequence.
BY_LENGTH = frozenset({"gdn_prefill_sm100"})


def turned(operation: str, config: Config, facts: Any) -> Sizes:
    """How often the loops turn that data decide, by the names that the report asks for."""
    turns = TURNS.get(operation)
    if turns is None:
        return {}
    loops: dict[str, Any] = {}
    whiles: list[str] = []

    def visit(nodes: Sequence[Any]) -> None:
        for node in nodes:
            kind = type(node).__name__
            if kind == "While":
                whiles.append(f"while_{len(whiles) + 1}")
            elif kind == "Loop" and "load" in str(node.extent):
                loops[node.var] = node.extent
            for part in ("body", "then", "orelse"):
                visit(getattr(node, part, ()))

    visit(facts.body)
    sizes = turns(config, [*loops], whiles)
    if operation in BY_LENGTH:
        length = sum(config["seq_lens"]) // len(config["seq_lens"])
        sizes.update({name: _trips(extent, length) for name, extent in loops.items()})
    return sizes


def launched(operation: str, config: Config) -> Sizes:
    """The sizes that the launcher of `operation` passes, by the names of the parameters."""
    sizes = LAUNCHERS.get(operation)
    return {} if sizes is None else sizes(config)

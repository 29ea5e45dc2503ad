"""What the names of parameters of kernels mean, and the values that are usual for it.

The names are uniform enough across tilelang, TVM and the libraries that use them. The first meaning
of which a pattern matches the whole name, in lower case, decides; `names_in_company` has the names
that mean something by the parameters beside them, which come before.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple, Optional, Tuple

from .names_in_company import Texts

#: Replaced by the number of multiprocessors of the device.
SM_COUNT: Texts = ("sm_count",)
DTYPES: Texts = ('"float16"', '"bfloat16"', '"float32"', '"int32"', '"int64"')


class Meaning(NamedTuple):
    """A meaning of names.

    `values` are Python expressions, the most usual first; `examples` are names of public kernels
    that have this meaning.
    """

    meaning: str
    patterns: Tuple[str, ...]
    values: Texts
    examples: Texts


MEANINGS: Tuple[Meaning, ...] = (
    Meaning(
        "the dtype of an accumulator",
        (r".*(accum|acc)_?(d?type)",),
        ('"float32"', '"float16"', '"int32"'),
        ("accum_dtype", "acc_type"),
    ),
    Meaning(
        "the dtype in which packed values are stored",
        (r"(.*_)?(storage|packed)_?d?type",),
        ('"uint8"', '"int8"'),
        ("storage_dtype", "packed_dtype"),
    ),
    Meaning(
        "the dtype of quantized values",
        (r"quant(ize)?_?d?type",),
        ('"int4"', '"int8"', '"float8_e4m3fn"'),
        ("quant_type", "quant_dtype"),
    ),
    Meaning(
        "the dtype of scales",
        (r".*(scale|sf)_?d?type",),
        ('"float32"', '"float16"'),
        ("scale_dtype", "sf_dtype"),
    ),
    Meaning(
        "the dtype of indices and lengths",
        (r".*(idx|index|indices|lens?|offsets?|lengths?|positions?|tables?)_?d?type",),
        ('"int32"',),
        ("seqlen_dtype", "offsets_dtype", "block_table_dtype"),
    ),
    Meaning(
        "a dtype",
        (r"(.*_)?d?type(_.*)?", r".*dtype\w?"),
        DTYPES,
        ("dtype", "in_dtype", "dtypeA", "type"),
    ),
    Meaning(
        "the format of quantized values",
        (r"(source_|src_)?format",),
        ('"uint"', '"int"'),
        ("source_format", "format"),
    ),
    Meaning(
        "the bits of a quantized value", (r"(num_|n_)?bits?",), ("4", "8"), ("bit", "num_bits")
    ),
    Meaning(
        "the threads of a block",
        (r"(num_|n_)?(threads?|thread_num|num_threads)(_num|_count|_per_block)?",),
        ("128", "256"),
        ("threads", "num_threads", "threads_per_block", "thread_num"),
    ),
    Meaning("the warps of a block", (r"(n_|num_)?warps?",), ("4", "8"), ("num_warps", "warps")),
    Meaning(
        "the stages of a pipeline",
        (r"(n_|num_)?(stages?|pipeline_stages?)",),
        ("2", "1", "0", "3"),
        ("num_stages", "stage", "n_pipeline_stages"),
    ),
    Meaning(
        "a tile of the reduction of a product",
        (r"(block|blk|tile|bn|b)_?(size)?_?k\d?", r"bk"),
        ("32", "64", "128"),
        ("block_K", "BK", "tile_k", "block_size_k"),
    ),
    Meaning(
        "a tile of heads",
        (r"(block|blk|tile)_?(size)?_?h", r"block_heads?"),
        ("64", "32", "16"),
        ("block_H", "block_heads"),
    ),
    Meaning(
        "a tile of rows or columns",
        (r"(block|blk|tile)_?(size)?_?(m|n|q)\d?", r"b[mn]"),
        ("128", "64", "32"),
        ("block_M", "BLOCK_N", "bm", "block_q"),
    ),
    Meaning(
        "a tile, a chunk or a page",
        (
            r"(block|blk|tile|chunk|page)(_.*|size|s)?",
            r".*_(block|blk|tile|chunk)(_size|size)?",
        ),
        ("64", "128", "32"),
        ("block_size", "chunk_size", "page_size", "kv_block_size", "block_rows"),
    ),
    Meaning(
        "a tile of time steps, values or columns",
        (r"b[tvcq]",),
        ("64", "32", "128"),
        ("BT", "BV"),
    ),
    Meaning(
        "a tile of a warp or an instruction",
        (r"(micro|warp)_.*",),
        ("16", "32", "64"),
        ("warp_row_tiles", "micro_size_x"),
    ),
    Meaning(
        "heads or groups of keys and values",
        (
            r"(heads?_?|n_?heads?_?|num_heads?_?|h_?)(kv|k)",
            r"(kv|k)_?(heads?|group|group_num|h)(_num)?",
            r"hkv",
            r"hg",
            r"(n|num)_(kv|key_value)_heads?",
        ),
        ("8", "1", "32"),
        ("head_kv", "num_kv_heads", "Hg", "kv_heads", "h_kv"),
    ),
    Meaning(
        "groups",
        (r"(n_|num_)?groups?(_num)?", r"kv_group(_num)?", r"g"),
        ("1", "8", "4"),
        ("groups", "num_groups", "G"),
    ),
    Meaning(
        "the elements of a group that has one scale",
        (r"group_?size",),
        ("128", "32", "64", "1"),
        ("group_size", "groupsize"),
    ),
    Meaning(
        "heads",
        (
            r"(n_|num_|total_)?(q_)?heads?(_num|_q)?",
            r"h",
            r"hq",
            r"hv",
            r"qh",
            r"nheads",
            r"q_heads?",
        ),
        ("32", "16", "128"),
        ("heads", "num_heads", "HV", "h", "nheads"),
    ),
    Meaning(
        "the batch",
        (r"(.*_)?batch(_?size|es)?", r"(bs|b|z)(_?size)?", r"(n|num)_?batch(es)?"),
        ("8", "1"),
        ("batch", "batch_size", "B", "bs", "max_batch"),
    ),
    Meaning(
        "the boundaries of the sequences of a batch: one more than its sequences",
        (r"((n|num)_?)?(bs?|batch(_?size|es)?|seqs?|sequences?)(_num)?_?(plus_?(one|1)|p1)",),
        ("9", "2"),
        ("batch_plus_one", "n_seq_plus_one", "num_seqs_p1"),
    ),
    Meaning(
        "the sequences of a batch",
        (r"(.*_)?(n|num)_?(s|seqs?|sequences?)",),
        ("8", "1"),
        ("num_seqs", "n_sequences"),
    ),
    Meaning(
        "the part of a head that rotary embedding turns",
        (r"(pe|rope|d_?pe|tail|qk_rope)_?(dim|tail|head_dim)?", r"d_?tail", r"tail_dim"),
        ("64", "32"),
        ("pe_dim", "rope_dim", "tail_dim", "qk_rope_head_dim"),
    ),
    Meaning(
        "the latent width of DeepSeek's attention",
        (r"(kv_)?lora(_rank)?", r"kv_latent.*"),
        ("512",),
        ("kv_lora_rank", "kv_latent_dim"),
    ),
    Meaning(
        "the width of a model or of its experts",
        (
            r"hidden(_?size|_dim)?",
            r"d_?model",
            r"n?_?embd?",
            r"d_?hidden",
            r"(d_)?expert",
            r"intermediate.*",
            r"d_?inner",
        ),
        ("4096", "2048"),
        ("hidden_size", "d_model", "n_embd", "intermediate_size"),
    ),
    Meaning(
        "the width of a head",
        (
            r".*dim(_?(qk|v|k|q|head|size))?",
            r"d",
            r"d[kvq]",
            r"d_?(head|state|qk|v|k|q)",
            r".*head_?size",
            r"headdim",
            r"hd\d",
            r"v",
        ),
        ("128", "64", "256"),
        ("head_dim", "D", "dim_v", "d_state", "head_size"),
    ),
    Meaning(
        "the chosen experts, blocks or tokens",
        (
            r"experts_per_tok(en)?",
            r"top_?k",
            r"k_?top",
            r"select(ed)?_?(blocks?|num)?",
            r"n_?topk",
            r"num_topk",
        ),
        ("8", "64", "2048"),
        ("topk", "experts_per_token", "selected_blocks"),
    ),
    Meaning(
        "the experts of a layer",
        (r"(num_|n_)?(routed_|shared_|local_)?experts?(_num)?", r"e"),
        ("8", "64"),
        ("num_experts", "E", "n_routed_experts"),
    ),
    Meaning(
        "the parts of a split reduction",
        (r"(num_|n_)?splits?(_?k|_num|_kv)?", r"k_?splits?", r"split_?k(_factor)?"),
        ("4", "1", "8"),
        ("split_k", "num_splits", "splitk"),
    ),
    Meaning(
        "a sliding window",
        (r"(window|local|sliding)(_size|_window)?",),
        ("None", "1024"),
        ("window_size", "sliding_window"),
    ),
    Meaning(
        "strides and padding of a convolution",
        (r"(stride|st|pad(ding)?|dilation)(_?[dhw])?",),
        ("1",),
        ("stride", "pad_h", "dilation"),
    ),
    # DeepSeek's mHC has four.
    Meaning(
        "streams of hyper-connections",
        (r"(n_?)?hc(_mult)?", r"n_?(expand|streams?)"),
        ("4",),
        ("hc", "n_expand", "hc_mult"),
    ),
    Meaning(
        "a window of pooling",
        (r"pool(ing)?_?(k(ernel)?|s(ize|tride)?|kernel_?size|window)",),
        ("2", "3"),
        ("pool_s", "pool_kernel", "pooling_window"),
    ),
    Meaning(
        "a side of a filter",
        (r"(kernel|filter)(_?size|_?[dhw])?", r"k[dhw]"),
        ("3",),
        ("kernel_size", "kw", "filter_w"),
    ),
    Meaning(
        "a flag",
        (
            r"(is_?|use_?|with_?|has_?|enable_?|do_|no_|return_?|need_?|should_?|store_|save_).*",
            r".*(causal|mask(ed)?|verbose)",
        ),
        ("False", "True"),
        ("is_causal", "use_swizzle", "no_mask", "hasZ"),
    ),
    Meaning(
        "whether an operand is transposed",
        (r"trans(pose)?_?.*",),
        ("False", "True"),
        ("trans_A", "transpose_b"),
    ),
    Meaning(
        "a small number that is added", (r"(.*_)?eps(ilon)?",), ("1e-06",), ("eps", "norm_eps")
    ),
    # Not 1: a product with it would not be there.
    Meaning(
        "a factor between 0 and 1",
        (r"(.*_)?(alpha|beta|gamma|lr|dropout|rate|momentum)",),
        ("0.5",),
        ("alpha", "dropout", "learning_rate"),
    ),
    Meaning(
        "a scale",
        (r"(.*_)?scal(e|ing)(_factor|_value)?", r"sm_?scale"),
        ("0.125", "None"),
        ("sm_scale", "softmax_scale", "scaling_factor"),
    ),
    Meaning("the results among the arrays", (r"out_?idx",), ("[-1]",), ("out_idx",)),
    Meaning("the target of the compiler", (r"target",), ('"cuda"',), ("target",)),
    Meaning(
        "the multiprocessors of the device",
        (r"((num|n|max|total)_?)?sms?(_?(count|num))?", r"num_ctas?(_.*)?"),
        SM_COUNT,
        ("num_sms", "sm_count", "num_ctas"),
    ),
    Meaning(
        "repetitions",
        (r"(n|num)_?(iters?|iterations?|steps?|repeats?|rep|layers?|rounds?)",),
        ("1", "10"),
        ("num_iters", "n_layers"),
    ),
    Meaning(
        "rounds of an algorithm",
        (r".*_(iters?|iterations?|repeats?|rounds?)",),
        ("10", "1"),
        ("sinkhorn_repeat", "newton_iters"),
    ),
    Meaning(
        "the columns of blocks that are rasterised together",
        (r"swizzle.*", r"panel.*"),
        ("8", "10"),
        ("swizzle_size", "panel_size"),
    ),
    Meaning(
        "the rows of a packed batch",
        (r"(total|packed|cu|u)_?(q|kv|k|s|t|len.*|seq.*|kv?_?len.*|q_?len.*)",),
        ("8192", "4096"),
        ("total_q", "total_kv", "packed_len"),
    ),
    Meaning(
        "the length of a sequence",
        (
            r".*seq_?len.*",
            r".*seq_?(length|s)?(_?(q|kv|k))?",
            r".*_len(gth)?(_.*)?",
            r"(max_?)?len(gth)?",
            r"(max_?)?(s|t|l|sq|skv|s_q|s_kv|n_?ctx)",
            r".*ctx",
            r".*tokens?",
        ),
        ("4096", "1024", "8192"),
        ("seq_len", "seqlen_kv", "num_tokens", "n_ctx", "downsample_len"),
    ),
    Meaning(
        "a dimension of a matrix or an array",
        (
            r"[mnk](_dim|_total|dim|_size|size)?",
            r".*size",
            r".*(rows?|cols?|width|height|channels?|features?|elements?|count|total|numel|length)",
        ),
        ("4096", "1024", "8192"),
        ("M", "N", "K", "in_features", "dout_size"),
    ),
    Meaning("a dimension of an image", (r"[cfhwxyp]",), ("128", "64", "16"), ("C", "W", "x")),
    Meaning("a number of things", (r"(num|n|max|total)_.*",), ("64", "8", "1024"), ("num_blocks",)),
)

_PATTERNS = tuple(
    (re.compile("|".join("(?:{})".format(pattern) for pattern in one.patterns)), one)
    for one in MEANINGS
)


@functools.lru_cache(maxsize=4096)
def meaning_of(name: str) -> Optional[Meaning]:
    """The meaning of a name; None if it has none by itself."""
    name = name.lower()
    return next((one for pattern, one in _PATTERNS if pattern.fullmatch(name)), None)


def usual_values(name: str) -> Texts:
    """The values that are usual for a name; none if it has no meaning by itself."""
    found = meaning_of(name)
    return () if found is None else found.values

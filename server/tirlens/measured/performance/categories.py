"""What kind of work a measured operation does, by its kind and the words of its kernel's name.

A trace has no other statement of it.  `PATTERNS` is the whole table; the first row that fits
decides.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

from tirlens.measured.records import OperationKind

Category: TypeAlias = Literal[
    "product", "attention", "normalisation", "elementwise", "copy", "collective", "other"
]
CATEGORIES: tuple[Category, ...] = get_args(Category)

#: Categories with regular expressions for whole words of a name, which are in lower case with an
#: underscore between them: ``ncclDevKernel_AllReduce`` is ``nccl_dev_kernel_all_reduce``.
#:
#: Sources: the kernels of torch (``aten/src/ATen/native/cuda``), Inductor's prefixes
#: (``torch/_inductor/codegen/triton.py``: ``poi`` pointwise, ``red`` and ``per`` reductions,
#: ``tem`` templates), cuBLAS (``nvjet``, ``xmma``), CUTLASS, Tensile (``Cijk``), cuDNN, CUB, NCCL,
#: FlashAttention, FlashInfer, vLLM, and the device operations of Tenstorrent's TT-NN.
PATTERNS: tuple[tuple[Category, str], ...] = (
    ("elementwise", "triton_poi"),
    ("other", "(cub|rocprim)_device_[^_]+ device_(scan|radix|select) at_native_reduce_kernel"),
    (
        "collective",
        """nccl rccl oneccl nvshmem[^_]* deep_ep (cross_device|all)_?reduce reduce_?scatter
        all_?gather all_?to_?all all_?broadcast multimem""",
    ),
    (
        "attention",
        """attn attention fmha fmha_[^_]+ mla flash_(fwd|bwd|attn|mla) flash_?infer mha mqa gqa sdpa
        scaled_dot_product (batch|single)_(prefill|decode)_with paged_kv [^_]*attn[^_]*
        [^_]*attention[^_]*""",
    ),
    (
        "product",
        """[^_]*gemm[^_]* [^_]*gemv[^_]* [^_]*matmul[^_]* xmma nvjet cijk mat_mul mm bmm addmm
        baddbmm linear dot marlin split_?k_?reduce conv convolution conv_?[123]_?d fprop dgrad
        wgrad winograd [shid]cudnn cutlass_[0-9]+_[^_]*op""",
    ),
    (
        "normalisation",
        """[^_]*(layer|rms|batch|group|instance)_?norm[^_]* (log_)?soft_?max[^_]* norm
        normali[sz](e|ation) l2norm bn_(fw|bw) rowwise_moments gamma_beta""",
    ),
    (
        "copy",
        """memcpy memset copy copies [^_]*_copy cat_array concat(enate)? transpose permute reshape
        gather scatter indexing index_(select|put|copy|add|fill|elementwise|kernel) embeddings?
        (un)?tilize (un)?tilize_with_[^_]+ interleaved sharded reshard pad slice clone fill im2col
        col2im repeat move reorder rearrange cache nchw_to_nhwc nhwc_to_nchw""",
    ),
    (
        "elementwise",
        """element_?wise elt_?wise pointwise unary binary ternary activation act_and_mul silu gelu
        relu sigmoid tanh rotary rope dropout bias add sub mul div cast typecast quant quantize
        dequant dequantize multi_tensor_apply foreach adam[^_]* sgd where clamp exp scale""",
    ),
)

_BY_KIND: dict[OperationKind, Category] = {"copy": "copy", "collective": "collective"}
_PATTERNS: tuple[tuple[Category, re.Pattern[str]], ...] = tuple(
    (category, re.compile(f"_(?:{'|'.join(patterns.split())})_")) for category, patterns in PATTERNS
)
# Between the words of ``LayerNorm`` and of ``RMSNorm``, and at what is no letter or digit.
_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")
# Types of parameters are no work: ``scal_kernel(cublasTransposeParams)``.
_PARAMETERS = re.compile(r"\([^()]*\)")
# A name of templates within templates; what is behind them decides nothing.
_MOST_CHARACTERS = 2000


def words_of(name: str) -> str:
    """The words of a kernel's name in lower case, with an underscore around each."""
    name, length = name[:_MOST_CHARACTERS], -1
    while len(name) != length:
        length = len(name)
        name = _PARAMETERS.sub("", name)
    return "_" + "_".join(_WORD_ENDS.sub(" ", name).lower().split()) + "_"


@lru_cache(1 << 14)
def category_of(name: str, kind: OperationKind = "kernel") -> Category:
    """The category of an operation with the name that its trace gives it."""
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    words = words_of(name)
    for category, pattern in _PATTERNS:
        if pattern.search(words):
            return category
    return "other"

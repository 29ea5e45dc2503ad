"""What every device of an architecture has in common, to hold a device file against.

Sources: NVIDIA/cccl ``libcudacxx/include/cuda/__device/arch_traits.h`` for the limits, the table of
native arithmetic throughput in the CUDA C++ Best Practices Guide and the architecture white papers
for the rates of NVIDIA (openxla/xla ``stream_executor/cuda`` has the same numbers); the CDNA white
papers and ISA guides for AMD; philipturner/metal-benchmarks for Apple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KIB = 1024
MIB = 1024 * 1024


@dataclass(frozen=True)
class Architecture:
    """Facts of one architecture.

    `rates` are operations per clock and SM (a multiply-accumulate = 2) by arithmetic class; where
    boards of one architecture differ (fp32 accumulation at half the rate), all that occur.
    """

    shared_kib_per_sm: int
    shared_kib_per_block: int
    threads_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    warp_size: int
    l1_kib: int
    l2_mib: tuple[float, float]
    rates: Mapping[str, tuple[float, ...]]
    shared_bytes_per_clk: int = 128
    issue_per_clk: int = 4
    load_store_lanes_per_clk: int = 32


def _rates(*scalar: float, **tensor: float | tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    names = ("fp64", "fp32", "fp16", "bf16", "int32", "sfu", "cvt")
    found: dict[str, tuple[float, ...]] = {n: (v,) for n, v in zip(names, scalar, strict=True)}
    for name, value in tensor.items():
        found[f"tensor.{name.replace('_', '.')}"] = value if isinstance(value, tuple) else (value,)
    return found


def _nvidia(
    shared: tuple[int, int],
    resident: tuple[int, int],
    caches: tuple[int, float, float],
    rates: Mapping[str, tuple[float, ...]],
    shared_bytes_per_clk: int = 128,
    issue_per_clk: int = 4,
    load_store_lanes_per_clk: int = 32,
) -> Architecture:
    return Architecture(
        *shared,
        *resident,
        registers_per_sm=65536,
        warp_size=32,
        l1_kib=caches[0],
        l2_mib=caches[1:],
        rates=rates,
        shared_bytes_per_clk=shared_bytes_per_clk,
        issue_per_clk=issue_per_clk,
        load_store_lanes_per_clk=load_store_lanes_per_clk,
    )


_HOPPER = _rates(
    *(128, 256, 512, 512, 64, 16, 64),
    float16=4096,
    bfloat16=4096,
    tf32=2048,
    float8=8192,
    int8=8192,
    float64=256,
)
_BLACKWELL = _rates(
    *(128, 256, 256, 256, 64, 16, 64),
    float16=8192,
    bfloat16=8192,
    tf32=4096,
    float8=16384,
    int8=16384,
    float6=16384,
    float4=32768,
    float64=128,
)
_AMPERE = _rates(
    *(64, 128, 512, 256, 64, 16, 16),
    float16=2048,
    bfloat16=2048,
    tf32=1024,
    int8=4096,
    int4=8192,
    float64=128,
)
_GA10X = _rates(
    *(4, 256, 256, 256, 64, 16, 16),
    float16=(512, 1024),
    float16_float16=1024,
    bfloat16=(512, 1024),
    tf32=(256, 512),
    int8=2048,
    int4=4096,
)
_ADA = _rates(
    *(4, 256, 256, 256, 64, 16, 16),
    float16=(512, 1024),
    float16_float16=1024,
    bfloat16=(512, 1024),
    tf32=(256, 512),
    float8=(1024, 2048),
    float8_float16=2048,
    int8=(1024, 2048),
    int4=(2048, 4096),
)
_RTX_BLACKWELL = _rates(
    *(4, 256, 256, 256, 128, 16, 64),
    float16=512,
    float16_float16=1024,
    bfloat16=512,
    tf32=256,
    float8=1024,
    float8_float16=2048,
    int8=2048,
    float4=4096,
)
_CDNA2 = _rates(
    *(128, 128, 256, 128, 64, 16, 64),
    float16=1024,
    bfloat16=1024,
    int8=1024,
    float64=256,
)
_CDNA3 = _rates(
    *(128, 256, 256, 256, 64, 16, 64),
    float16=2048,
    bfloat16=2048,
    tf32=1024,
    float8=4096,
    int8=4096,
    float64=256,
)
_CDNA4 = _rates(
    *(128, 256, 256, 256, 64, 16, 64),
    float16=4096,
    bfloat16=4096,
    float8=8192,
    int8=8192,
    float6=16384,
    float4=16384,
    float64=128,
)
_APPLE = {
    **dict.fromkeys(("fp32", "fp16", "bf16", "tensor.tf32"), (256.0,)),
    "int32": (128.0,),
    "cvt": (128.0,),
    "sfu": (32.0,),
    "tensor.float16": (256.0, 850.0),
}


def _apple() -> Architecture:
    return Architecture(60, 32, 3072, 32, 53248, 32, 8, (0.3, 2.0), _APPLE, 64)


ARCHITECTURES: Mapping[str, Architecture] = {
    "sm_60": _nvidia(
        (64, 48), (2048, 32), (24, 2, 4), _rates(64, 128, 256, 128, 64, 16, 16), 128, 2
    ),
    "sm_61": _nvidia((96, 48), (2048, 32), (48, 1, 4), _rates(8, 256, 4, 256, 128, 32, 32)),
    "sm_70": _nvidia(
        (96, 96),
        (2048, 32),
        (128, 4, 6),
        _rates(64, 128, 256, 128, 64, 16, 16, float16=1024),
    ),
    "sm_75": _nvidia(
        (64, 64),
        (1024, 16),
        (64, 2, 6),
        _rates(
            4,
            128,
            256,
            128,
            64,
            16,
            16,
            float16=(512, 1024),
            float16_float16=1024,
            int8=2048,
            int4=4096,
        ),
        64,
        load_store_lanes_per_clk=16,
    ),
    "sm_80": _nvidia((164, 163), (2048, 32), (192, 24, 80), _AMPERE),
    "sm_86": _nvidia((100, 99), (1536, 16), (128, 2, 6), _GA10X, load_store_lanes_per_clk=16),
    "sm_89": _nvidia((100, 99), (1536, 24), (128, 24, 96), _ADA, load_store_lanes_per_clk=16),
    "sm_90": _nvidia((228, 227), (2048, 32), (256, 25, 60), _HOPPER),
    "sm_100": _nvidia((228, 227), (2048, 32), (256, 60, 130), _BLACKWELL),
    "sm_120": _nvidia((100, 99), (1536, 24), (128, 24, 128), _RTX_BLACKWELL),
    "gfx90a": Architecture(64, 64, 2048, 32, 131072, 64, 16, (8, 16), _CDNA2),
    "gfx942": Architecture(64, 64, 2048, 32, 131072, 64, 32, (24, 32), _CDNA3),
    "gfx950": Architecture(160, 160, 2048, 32, 131072, 64, 32, (32, 32), _CDNA4),
    **{name: _apple() for name in ("apple7", "apple8", "apple10")},
}

"""The device of a framework's target, and what the target says that the device does not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from tirlens.hardware.board_names import board_of, describe_other_board
from tirlens.hardware.catalogue import architectures, for_architecture, load
from tirlens.hardware.spec import Device

# The CPU of kernels that name none.
DEFAULT_CPU = "x86-avx2"
_ARM_CPU = "arm-neoverse"
# The device of a kind of GPU whose target names no chip, where the default device is of another.
_REPRESENTATIVES = {"metal": "apple-m2", "rocm": "mi300x", "hip": "mi300x"}
_GPU_KINDS = ("cuda", "nvptx", "rocm", "hip", "metal")
# Names of LLVM's X86.td with AVX2 and with AVX-512F; ``x86-64-v3`` and ``x86-64-v4`` are levels of
# the x86-64 psABI.
_AVX512 = frozenset({
    "skylake-avx512", "skx", "cascadelake", "cooperlake", "cannonlake", "icelake-client",
    "icelake-server", "tigerlake", "rocketlake", "sapphirerapids", "emeraldrapids",
    "graniterapids", "graniterapids-d", "diamondrapids", "knl", "knm", "mic_avx512", "znver4",
    "znver5", "x86-64-v4",
})  # fmt: skip
_AVX2 = frozenset({
    "haswell", "core-avx2", "broadwell", "skylake", "alderlake", "raptorlake", "meteorlake",
    "arrowlake", "arrowlake-s", "lunarlake", "pantherlake", "gracemont", "sierraforest",
    "grandridge", "clearwaterforest", "bdver4", "znver1", "znver2", "znver3", "x86-64-v3",
})  # fmt: skip
# LLVM's CPU without a name has SSE2: llvm/lib/Target/X86/X86.td, "x86-64".
_BASELINE_X86 = (
    "the target names no mcpu: LLVM compiles for SSE2, with vectors of 16 bytes and no "
    "multiply-add, where the rates are those of {}"
)
_ARM64_TRIPLES = ("aarch64", "arm64")
_ARM_CORES = ("neoverse", "cortex", "apple", "thunderx", "a64fx", "ampere", "carmel", "kryo")
_OTHER_SETS = ("riscv", "wasm", "hexagon", "mips", "powerpc", "ppc", "s390", "sparc", "loongarch")


def for_target(target: Mapping[str, Any]) -> Device | None:
    """The device of a framework's target; None when the target leaves the device open.

    A board in the tag or the model comes first (``nvidia/geforce-rtx-3080``), then the
    architecture (``sm_90a``, ``gfx942``, ``skylake-avx512``). Where the catalogue lacks what the
    target names, the nearest entry is returned, and a caveat of the device says so.

    Parameters
    ----------
    target
        Attributes of a target: ``kind``, ``arch``, ``tag``, ``model``, ``mcpu``, ``mtriple``,
        ``mattr``, ``num-cores``.

    Returns
    -------
    None for ``cuda`` without an architecture, and for a kind of GPU that the catalogue lacks, which
    `missing_kind` describes.
    """
    kind = str(target.get("kind") or "")
    if kind in ("llvm", "c", "hexagon"):
        return _with_cores(_cpu(target, kind), target.get("num-cores"))
    if kind and kind not in _GPU_KINDS:
        return None
    return _gpu(target, kind)


def missing_kind(target: Mapping[str, Any], device: Device) -> str | None:
    """What is said of a kind that no device of the catalogue has, where `device` is used."""
    kind = str(target.get("kind") or "")
    if not kind or kind in _GPU_KINDS or for_target(target) is not None:
        return None
    return _no_device(_join(kind, target.get("tag")), device)


def _gpu(target: Mapping[str, Any], kind: str) -> Device | None:
    stated = [str(target[key]) for key in ("tag", "model") if target.get(key)]
    names = [text.rpartition("/")[2] for text in stated]
    for text, name in zip(stated, names, strict=True):
        board = board_of(text)
        if board is not None and board.device.kind != "cpu":
            note = "" if board.is_exact else describe_other_board(name, board.device)
            return _with_caveat(board.device, note)
    # LLVM's name of a GPU of AMD is its architecture.
    arch = str(target.get("arch") or target.get("mcpu") or "")
    if not arch:
        if kind not in _REPRESENTATIVES:
            return None
        device = load(_REPRESENTATIVES[kind])
        return _with_caveat(device, f"the target {kind} names no chip: {device.id} is used")
    device = for_architecture(arch)
    if device is None:
        device = _nearest_architecture(arch)
        if device is None:
            return None
        return _with_caveat(device, _no_device(_join(kind, arch, *names), device))
    return _with_caveat(device, describe_other_board(names[0], device) if names else "")


def _nearest_architecture(arch: str) -> Device | None:
    """The device of the vendor's greatest architecture up to `arch`, else of the least."""
    prefix, base = ("sm_", 10) if arch.startswith("sm_") else ("gfx", 16)
    wanted = _number(arch, prefix, base)
    if wanted is None:
        return None
    known = {
        number: name
        for name in architectures().values()
        if (number := _number(name, prefix, base)) is not None
    }
    below = [number for number in known if number <= wanted]
    return for_architecture(known[max(below) if below else min(known)])


def _number(arch: str, prefix: str, base: int) -> int | None:
    if not arch.startswith(prefix):
        return None
    digits = arch[len(prefix) :]
    try:
        return int(digits.rstrip("af") if base == 10 else digits, base)
    except ValueError:
        return None


def _cpu(target: Mapping[str, Any], kind: str) -> Device:
    mcpu, triple = (str(target.get(key) or "").lower() for key in ("mcpu", "mtriple"))
    words = _join(kind, mcpu or triple, target.get("model"))
    names = (mcpu, triple, kind)
    if _begins(names, _OTHER_SETS) or mcpu.startswith(("sifive", "spacemit")):
        device = load(DEFAULT_CPU)
        return _with_caveat(device, _no_device(words, device))
    if triple.startswith(_ARM64_TRIPLES) or _begins((mcpu,), _ARM_CORES) or "arm" in triple:
        device = load(_ARM_CPU)
        chip = mcpu if mcpu not in ("", "generic") else str(target.get("model") or "")
        is_64_bit = not triple or triple.startswith(_ARM64_TRIPLES)
        is_known = is_64_bit and chip in ("", device.arch) and "apple" not in triple
        return _with_caveat(device, "" if is_known else _no_device(words, device))
    features = {str(item) for item in _elements(target.get("mattr"))}
    if mcpu in _AVX512 or "+avx512f" in features:
        return load("x86-avx512")
    device = load(DEFAULT_CPU)
    if mcpu in _AVX2 or "+avx2" in features or kind == "c":
        return device
    if mcpu in ("", "generic", "x86-64"):
        return _with_caveat(device, _BASELINE_X86.format(device.id))
    return _with_caveat(device, _no_device(words, device))


def _begins(names: Iterable[str], prefixes: tuple[str, ...]) -> bool:
    return any(name.startswith(prefixes) for name in names)


def _elements(value: Any) -> Sequence[Any]:
    if isinstance(value, str):
        return value.split(",")
    return list(cast("Iterable[Any]", value)) if isinstance(value, (list, tuple)) else []


def _with_cores(device: Device, count: Any) -> Device:
    """`device` with the cores of the target's ``num-cores``; DRAM and caches are the entry's."""
    if not isinstance(count, int) or count <= 0 or count == device.sm_count:
        return device
    note = f"num-cores of the target is {count}; the memory rates are those of {device.id}"
    return _with_caveat(device.with_sm_count(count), note)


def _with_caveat(device: Device, text: str) -> Device:
    return replace(device, caveats=(*device.caveats, text)) if text else device


def _join(*parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part)


def _no_device(target: str, device: Device) -> str:
    return f"no device for this target ({target}): {device.id} is used in its place"

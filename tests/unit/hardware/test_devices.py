"""The devices that come with the package, and what the reader says of a wrong file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tirlens.hardware import DEFAULT_DEVICE, DeviceError, catalogue, for_target, load
from tirlens.hardware.architecture import FOLDER, architecture
from tirlens.hardware.catalogue import DATA, aliases
from tirlens.hardware.provenance import provenance
from tirlens.hardware.reader import read_device
from tirlens.hardware.sources import sources_of
from tirlens.hardware.toml_file import numbers_by_key, read_table
from tirlens.toml_reader import tomllib

# A file that says all of a device itself, with the provenance as the first word of a source.
COMPLETE = (Path(__file__).parent / "data" / "h200-complete.toml").read_text(encoding="utf-8")
UNMEASURED = ("as", "scaled", "estimate", "disputed")


@pytest.mark.parametrize("identifier", catalogue())
def test_every_number_has_a_source(identifier: str) -> None:
    table = tomllib.loads((DATA / f"{identifier}.toml").read_text(encoding="utf-8"))
    device = load(identifier)
    assert device.id == identifier
    assert set(numbers_by_key(table)) - set(device.sources) == set()


def test_a_number_without_a_source_is_seen(tmp_path: Path) -> None:
    text = COMPLETE
    path = tmp_path / "h200.toml"
    path.write_text(text.replace('"limits" =', '"limits.warp_size" =', 1), encoding="utf-8")
    missing = set(numbers_by_key(tomllib.loads(text))) - set(read_device(path).sources)
    limits = {key for key in numbers_by_key(tomllib.loads(text)) if key.startswith("limits.")}
    assert missing == limits - {"limits.warp_size"}


@pytest.mark.parametrize("identifier", catalogue())
def test_figures_agree_with_each_other(identifier: str) -> None:
    device = load(identifier)
    assert device.l2.bytes_per_s * device.l2.sustained_fraction > device.dram.bytes_per_s * 0.5
    assert device.dram.latency_s > device.l2.latency_s
    assert device.limits.shared_bytes_per_block <= device.limits.shared_bytes_per_sm
    scalar = max(device.peaks[name].flop_per_s for name in ("fp32", "fp64") if name in device.peaks)
    for name, peak in device.peaks.items():
        if name.startswith("tensor.float") and name != "tensor.float64":
            assert peak.flop_per_s >= scalar, name


def test_names_are_unique_and_lead_to_their_device() -> None:
    names = [alias for identifier in catalogue() for alias in load(identifier).aliases]
    assert len(names) == len({name.lower() for name in names})
    assert not set(aliases()) & set(catalogue())
    assert load(DEFAULT_DEVICE).name == "NVIDIA H100 SXM5 80 GB"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("h100", "h100-sxm"),
        ("H100-SXM", "h100-sxm"),
        ("sm_90", "h100-sxm"),
        ("sm_80", "a100-80-sxm"),
        ("rtx4090", "rtx-4090"),
        ("gfx942", "mi300x"),
        ("cpu", "x86-avx2"),
    ],
)
def test_other_names(name: str, expected: str) -> None:
    assert load(name).id == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"kind": "cuda", "arch": "sm_90a"}, "h100-sxm"),
        ({"kind": "cuda", "arch": "sm_100a"}, "b200"),
        ({"kind": "cuda", "arch": "sm_86"}, "rtx-3090"),
        ({"kind": "cuda", "tag": "nvidia/geforce-rtx-3090"}, "rtx-3090"),
        ({"kind": "cuda", "tag": "nvidia/nvidia-a100"}, "a100-80-sxm"),
        ({"kind": "hip", "mcpu": "gfx942"}, "mi300x"),
        ({"kind": "llvm", "mcpu": "skylake-avx512"}, "x86-avx512"),
        ({"kind": "llvm", "mtriple": "aarch64-linux-gnu"}, "arm-neoverse"),
        ({"kind": "rocm", "mcpu": "gfx90a"}, "mi250x"),
        ({"kind": "cuda", "arch": "sm_120f"}, "rtx-5090"),
        ({"kind": "cuda", "arch": "sm_86", "model": "rtx-3080"}, "rtx-3080"),
        ({"kind": "cuda", "arch": "sm_86", "tag": "nvidia/nvidia-a40"}, "a40"),
        ({"kind": "metal", "tag": "apple/m1-gpu-restricted"}, "apple-m1"),
        ({"kind": "llvm", "mcpu": "znver4"}, "x86-avx512"),
        ({"kind": "llvm", "mcpu": "graniterapids"}, "x86-avx512"),
        ({"kind": "llvm", "mcpu": "emeraldrapids"}, "x86-avx512"),
        ({"kind": "llvm", "mcpu": "tigerlake"}, "x86-avx512"),
        ({"kind": "llvm", "mcpu": "rocketlake"}, "x86-avx512"),
        ({"kind": "llvm", "mcpu": "x86-64-v4"}, "x86-avx512"),
        ({"kind": "llvm", "mcpu": "alderlake"}, "x86-avx2"),
        ({"kind": "llvm", "mattr": ["+avx512f"]}, "x86-avx512"),
        ({"kind": "llvm", "mcpu": "neoverse-v1", "mtriple": "aarch64-linux-gnu"}, "arm-neoverse"),
        ({"kind": "hip", "mcpu": "gfx950"}, "mi355x"),
    ],
)
def test_device_of_a_target(target: dict[str, str], expected: str) -> None:
    device = for_target(target)
    assert device is not None
    assert device == load(device.id)
    assert device.id == expected


@pytest.mark.parametrize("target", [{"kind": "cuda"}, {"kind": "vulkan"}, {}])
def test_a_target_may_leave_the_device_open(target: dict[str, str]) -> None:
    assert for_target(target) is None


@pytest.mark.parametrize(
    ("target", "expected", "caveat"),
    [
        ({"kind": "cuda", "arch": "sm_87"}, "rtx-3090", "no device for this target (cuda, sm_87)"),
        ({"kind": "cuda", "arch": "sm_10"}, "p100-pcie", "no device for this target (cuda, sm_10)"),
        ({"kind": "cuda", "arch": "sm_103a"}, "b200", "no device for this target"),
        ({"kind": "rocm", "mcpu": "gfx908"}, "mi250x", "no device for this target (rocm, gfx908)"),
        ({"kind": "rocm", "mcpu": "gfx1100"}, "mi355x", "no device for this target"),
        ({"kind": "rocm"}, "mi300x", "the target rocm names no chip"),
        ({"kind": "llvm"}, "x86-avx2", "the target names no mcpu: LLVM compiles for SSE2"),
        ({"kind": "llvm", "mtriple": "x86_64-linux-gnu"}, "x86-avx2", "the target names no mcpu"),
        ({"kind": "metal"}, "apple-m2", "the target metal names no chip"),
        (
            {"kind": "cuda", "tag": "nvidia/geforce-rtx-3090-ti", "arch": "sm_86"},
            "rtx-3090",
            "geforce-rtx-3090-ti is not in the catalogue",
        ),
        (
            {"kind": "cuda", "tag": "nvidia/nvidia-a10g", "arch": "sm_86"},
            "a10",
            "nvidia-a10g is not in the catalogue",
        ),
        (
            {"kind": "cuda", "tag": "nvidia/jetson-orin-nano", "arch": "sm_87"},
            "rtx-3090",
            "no device for this target (cuda, sm_87, jetson-orin-nano)",
        ),
        ({"kind": "llvm", "mtriple": "wasm32-unknown-unknown"}, "x86-avx2", "no device for this"),
        ({"kind": "llvm", "mtriple": "riscv64-linux-gnu"}, "x86-avx2", "no device for this target"),
        ({"kind": "llvm", "mcpu": "sifive-u74"}, "x86-avx2", "no device for this target"),
        ({"kind": "llvm", "mcpu": "nehalem"}, "x86-avx2", "no device for this target (llvm, neha"),
        ({"kind": "llvm", "mtriple": "armv7l-linux-gnueabihf"}, "arm-neoverse", "no device for"),
        ({"kind": "llvm", "mcpu": "neoverse-n2"}, "arm-neoverse", "no device for this target"),
        ({"kind": "c", "mcpu": "cortex-m7"}, "arm-neoverse", "no device for this target"),
        ({"kind": "hexagon"}, "x86-avx2", "no device for this target (hexagon)"),
    ],
)
def test_a_target_that_the_catalogue_lacks_is_told(
    target: dict[str, str], expected: str, caveat: str
) -> None:
    device = for_target(target)
    assert device is not None
    assert device.id == expected
    (added,) = device.caveats[len(load(expected).caveats) :]
    assert added.startswith(caveat)
    assert expected in added


def test_the_cores_of_a_target_are_those_of_its_device() -> None:
    device = for_target({"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 4})
    assert device is not None
    whole = load("x86-avx512")
    assert device.sm_count == 4
    ratio = device.peaks["fp32"].flop_per_s / whole.peaks["fp32"].flop_per_s
    assert ratio == pytest.approx(4 / whole.sm_count)
    assert any("num-cores" in text for text in device.caveats)


def test_an_unknown_name_says_what_is_known() -> None:
    with pytest.raises(DeviceError, match=r'"h1000" is no known device.*h100-sxm.*\.toml'):
        load("h1000")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bytes_per_s = 4.8e12", "bytes_per_s = 4800", r"dram\.bytes_per_s: 4800 .*4\.8e\+12"),
        ("clock_hz = 1.83e9", "clock_hz = 1830", r"clock_hz: 1830 .*slip of the unit"),
        ("sm_count = 132", "sm_count = 13.5", r"sm_count: must be a whole number, not 13\.5"),
        ("sm_count = 132", 'sm_count = "132"', r"sm_count: must be a number"),
        ("sm_count = 132", "sms = 132", r"sms: unknown key; known are id"),
        ("sm_count = 132\n", "", r"sm_count: missing"),
        ("warp_size = 32", "warpsize = 32", r"limits\.warpsize: unknown key"),
        ("\nfp32 = ", "\nsingle = ", r"mine\.toml:48: peaks\.single: unknown arithmetic class"),
        ("6.69082e13", "66.9", r"mine\.toml:48: peaks\.fp32\.flop_per_s: 66\.9 .*slip of the unit"),
        ('kind = "gpu"', 'kind = "tpu"', r'kind: must be "gpu", "cpu" or "accelerator"'),
        ("[limits]", "[limits", r"not a TOML file.*line 20"),
        ("l2.bytes_per_s", "l2.bits_per_s", r"sources\..*: l2\.bits_per_s: is no number"),
        ("band = 0.25", "band = true", r"band: must be a number"),
    ],
)
def test_a_wrong_file_is_told_by_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in COMPLETE
    path = tmp_path / "mine.toml"
    path.write_text(COMPLETE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DeviceError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_file_of_the_user_may_leave_sources_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(COMPLETE.split("[sources]")[0], encoding="utf-8")
    device = read_device(path)
    of_architecture = set(architecture("sm_90", "NVIDIA").sources)
    assert set(device.sources) - of_architecture <= {
        f"peaks.{name}.flop_per_s" for name in device.peaks
    }
    assert provenance(device, "dram.sustained_fraction") == "estimate"


def test_a_complete_file_with_provenance_in_its_texts_is_the_same_device(tmp_path: Path) -> None:
    path = tmp_path / "h200.toml"
    path.write_text(COMPLETE, encoding="utf-8")
    mine, ours = read_device(path), load("h200")
    assert replace(mine, sources={}, provenance={}) == replace(ours, sources={}, provenance={})
    assert {key: known for key, known in mine.provenance.items() if "peaks" not in key} == {
        key: known for key, known in ours.provenance.items() if "peaks" not in key
    }


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.toml")), ids=lambda path: path.stem)
def test_no_source_of_the_catalogue_has_its_provenance_in_the_text(path: Path) -> None:
    for key, source in tomllib.loads(path.read_text(encoding="utf-8"))["sources"].items():
        text = source if isinstance(source, str) else ""
        assert text.partition(" ")[0].rstrip(":") not in UNMEASURED, key


@pytest.mark.parametrize(
    ("source", "text", "known"),
    [
        ('"a copy kernel, 2.9 TB/s"', "a copy kernel, 2.9 TB/s", "measured"),
        ('{ measured = "scaled dot products" }', "scaled dot products", "measured"),
        ('{ as = "the H200" }', "as the H200", "as"),
        ('{ estimate = "half the peak" }', "estimate: half the peak", "estimate"),
        ('"estimate: half the peak"', "estimate: half the peak", "estimate"),
        ('"disputed: two boards"', "disputed: two boards", "disputed"),
    ],
)
def test_a_source_says_how_a_number_is_known(
    tmp_path: Path, source: str, text: str, known: str
) -> None:
    key = "dram.sustained_fraction"
    device = load(_extension(tmp_path, EXTENSION.replace('"measured on our machine"', source)))
    assert (device.sources[key], provenance(device, key)) == (text, known)


def test_every_number_of_an_architecture_has_a_source() -> None:
    for path in sorted(FOLDER.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        sources = sources_of(read_table(path, lambda name, _: FOLDER / f"{name}.toml"))
        assert not any("without a source" in source.text for source in sources.values()), path
        assert set(numbers_by_key(table)) <= set(sources), path.name


@pytest.mark.parametrize(
    ("device", "restart_clk", "lines_per_clk"),
    [("h200", 290, 4), ("b200", 250, 4), ("a100-80-sxm", 250, 4), ("mi300x", 250, None)],
)
def test_the_microarchitecture_is_that_of_the_architecture_or_vendor(
    device: str, restart_clk: float, lines_per_clk: float | None
) -> None:
    found = load(device).microarchitecture
    assert found.product_restart_clk == restart_clk
    assert found.l1_lines_per_clk == lines_per_clk


def test_a_device_overrides_single_numbers_of_its_architecture(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = 'extends = "h200"\n[microarchitecture]\nbarrier_clk = 40\n'
    path.write_text(f'{text}[sources]\n"microarchitecture" = "measured"\n', encoding="utf-8")
    device, base = load(path), load("h200")
    assert device.microarchitecture == replace(base.microarchitecture, barrier_clk=40.0)
    assert device.sources["microarchitecture.barrier_clk"] == "measured"
    key = "microarchitecture.shared_clk"
    assert device.sources[key] == base.sources[key]
    path.write_text(text.replace("40", "0"), encoding="utf-8")
    with pytest.raises(DeviceError, match=r"mine.toml:3: microarchitecture.barrier_clk: 0 is not"):
        load(path)
    path.write_text(text.replace("barrier_clk", "barriers"), encoding="utf-8")
    with pytest.raises(DeviceError, match=r"microarchitecture.barriers: unknown key"):
        load(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="cannot be read"):
        load(tmp_path / "none.toml")


EXTENSION = """\
extends = "h100-sxm"

[dram]
bytes = 64000000000
sustained_fraction = 0.85

[sources]
"dram.sustained_fraction" = "measured on our machine"
"""


def _extension(tmp_path: Path, text: str = EXTENSION) -> Path:
    path = tmp_path / "our-h100.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_may_extend_a_device_of_the_catalogue(tmp_path: Path) -> None:
    base, device = load("h100"), load(_extension(tmp_path))
    assert device.id == "our-h100"
    assert device.name == "NVIDIA H100 SXM5 80 GB, as our-h100.toml has it"
    assert device.aliases == ()
    assert (device.dram.bytes, device.dram.sustained_fraction) == (64_000_000_000, 0.85)
    assert device.dram.bytes_per_s == base.dram.bytes_per_s
    assert device.peaks == base.peaks
    assert device.sources["dram.sustained_fraction"] == "measured on our machine"
    assert device.sources["dram.bytes"] == "our-h100.toml, without a source"
    assert device.sources["dram.bytes_per_s"] == base.sources["dram.bytes_per_s"]


def test_inherited_rates_follow_the_clock_and_the_sms_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "half.toml"
    path.write_text('extends = "rtx-4090"\nsm_count = 64\nclock_hz = 1.26e9\n', "utf-8")
    base, device = load("rtx-4090"), load(path)
    for name, peak in base.peaks.items():
        assert device.peaks[name].flop_per_s == pytest.approx(peak.flop_per_s / 4, rel=1e-5), name
    assert device.sources["peaks.tensor.float16.flop_per_s"] == (
        "scaled by SMs and clock from rtx-4090"
    )
    # A rate with a clock of its own is of that clock.
    path.write_text('extends = "h100-sxm"\nclock_hz = 1.2e9\n', "utf-8")
    assert load(path).peaks == load("h100-sxm").peaks


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '"tensor.float16" = { flop_per_s = 1.979e15 }',
            r"mine.toml:3: peaks.tensor.float16.flop_per_s: 8193 .*, where sm_90 has 4096",
        ),
        ("fp32 = { flop_per_s = 1.2e14 }", r"mine.toml:3: peaks.fp32.flop_per_s: 459"),
        (
            '"tensor.int4" = { flop_per_s = 4e15, sustained_fraction = 0.7 }',
            r"mine.toml:3: peaks.tensor.int4: sm_90 has no such units",
        ),
    ],
)
def test_a_rate_that_the_units_do_not_have_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'extends = "h100-sxm"\n[peaks]\n{text}\n', encoding="utf-8")
    with pytest.raises(DeviceError, match=message):
        load(path)


def test_a_rate_that_a_file_gives_is_at_the_clock_that_it_gives(tmp_path: Path) -> None:
    path = tmp_path / "slow.toml"
    rate = "tensor.float16"
    path.write_text(
        'extends = "h200"\nclock_hz = 1.5e9\n'
        f'[peaks]\n"{rate}" = {{ flop_per_s = {132 * 4096 * 1.5e9} }}\n'
    )
    device = load(path)
    assert (load("h200").peaks[rate].clock_hz, device.peaks[rate].clock_hz) == (1.83e9, None)


@pytest.mark.parametrize(
    "path",
    sorted((Path(__file__).parents[2] / "measured").glob("*.toml")),
    ids=lambda path: path.stem,
)
def test_the_boards_of_measurements_are_read(path: Path) -> None:
    assert load(path).peaks


def test_a_chip_with_reduced_rates_names_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    rate = '[peaks]\n"tensor.float16" = { flop_per_s = 2e14 }\n'
    path.write_text(f'extends = "h100-sxm"\n{rate}', encoding="utf-8")
    with pytest.raises(DeviceError, match="has their names in reduced_rates"):
        load(path)
    path.write_text(f'extends = "h100-sxm"\nreduced_rates = ["tensor"]\n{rate}', "utf-8")
    assert load(path).peaks["tensor.float16"].flop_per_s == 2e14


def test_a_device_of_an_unknown_architecture_needs_all_its_rates(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(COMPLETE.replace('"sm_90"', '"sm_999"'), encoding="utf-8")
    assert load(path).peaks == load("h200").peaks
    text = (DATA / "h200.toml").read_text(encoding="utf-8").replace('"sm_90"', '"sm_999"')
    path.write_text(f'vendor = "NVIDIA"\n{text}', encoding="utf-8")
    with pytest.raises(DeviceError, match=r"peaks\.fp64\.flop_per_s: missing"):
        load(path)


def test_a_file_may_extend_one_beside_it(tmp_path: Path) -> None:
    _extension(tmp_path)
    path = tmp_path / "capped.toml"
    path.write_text('extends = "our-h100.toml"\nname = "Capped"\nclock_hz = 1.2e9\n', "utf-8")
    device = load(path)
    assert (device.name, device.clock_hz, device.dram.bytes) == ("Capped", 1.2e9, 64_000_000_000)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("h100-sxm", "h1000", r"our-h100\.toml:1: extends: .h1000. is no known device"),
        ("h100-sxm", "other.toml", r"our-h100\.toml:1: extends: .*other\.toml: cannot be read"),
        ("h100-sxm", "our-h100.toml", r"extends: .* our-h100\.toml -> our-h100\.toml"),
        ('"h100-sxm"', "3", r"our-h100\.toml:1: extends: must be the id"),
        ("= 64000000000", "= 64", r"our-h100\.toml:4: dram\.bytes: 64 is not plausible"),
        ("[dram]", "[drams]", r"our-h100\.toml:3: drams: unknown key"),
        ('"dram.sus', '"l2.sus', r"our-h100\.toml:8: sources\.l2.*: is no number in this file"),
    ],
)
def test_an_error_of_an_extending_file_has_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in EXTENSION
    with pytest.raises(DeviceError, match=message):
        load(_extension(tmp_path, EXTENSION.replace(old, new, 1)))

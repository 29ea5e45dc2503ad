"""A bundle has no text of the source, evaluates to the same report, and is read again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from support.stored_facts import NAMES, entries
from tirlens.hardware import load
from tirlens.measured.bundle.anonymous_facts import Anonymiser
from tirlens.measured.bundle.residual_bundle import (
    BundledKernel,
    BundleError,
    Measurement,
    anonymous,
    bundle_text,
    read_bundle,
)
from tirlens.model import analyze
from tirlens_worker.codec import dumps, from_json
from tirlens_worker.facts import (
    Built,
    Caveat,
    CompiledLaunch,
    KernelFacts,
    LocalAccess,
    LoweredLaunch,
    Move,
    Requirement,
    Span,
)

DEVICE = load("h100-sxm")
#: Every figure that a report has for the whole kernel.
FIGURES = (
    "status", "time_s", "time_band_s", "bound", "flop", "int_ops", "dram_bytes", "l2_bytes",
    "global_bytes", "shared_bytes", "registers_per_thread", "occupancy", "waves", "grid",
    "compulsory_bytes", "shared_bytes_per_block",
)  # fmt: skip


@cache
def stored_facts() -> tuple[KernelFacts, ...]:
    """Real kernels of both frameworks: every 60th of the measured ones."""
    found: list[KernelFacts] = []
    for name in NAMES:
        found += [from_json(KernelFacts, one) for one in entries(name)[::60] if "body" in one]
    return tuple(found)


def measurement(**fields: Any) -> Measurement:
    known: dict[str, Any] = {
        "time_s": 1e-3, "figures": {"mean_s": 1e-3}, "executions": 7, "grid": (8, 4, 1),
        "threads": 128, "shared_bytes": 1024, "registers": 32,
        "counters": {"dram__bytes_read.sum": 1e9}, "device_name": "NVIDIA H100 80GB HBM3",
        "format_name": "CSV", "counters_are_of_timed_run": True,
    }  # fmt: skip
    return Measurement(**{**known, **fields})


def bundled(facts: KernelFacts, keeps_names: bool = False, **fields: Any) -> BundledKernel:
    kernel = BundledKernel(facts, {}, "h100-sxm", None, measurement(**fields), 2e-3)
    found = anonymous(kernel, Anonymiser(keeps_names))
    assert found is not None
    return found


@pytest.mark.slow
def test_the_report_is_the_same() -> None:
    kernels = stored_facts()
    assert len(kernels) > 50
    for facts in kernels:
        before = analyze(facts, DEVICE)
        now = analyze(Anonymiser().facts(facts), DEVICE)
        for name in FIGURES:
            assert getattr(before, name) == getattr(now, name), (facts.definition, name)


def with_canaries(data: Any) -> Any:
    """JSON of facts with another text in place of each, in keys of mappings too."""
    if isinstance(data, dict):
        is_object = "$" in data
        return {
            key if is_object else f"CANARY_{key}": value if key == "$" else with_canaries(value)
            for key, value in data.items()
        }
    if isinstance(data, list):
        return list(map(with_canaries, data))
    return f"CANARY_{data}" if isinstance(data, str) else data


LOCAL = LocalAccess(Span(4, 0, 4, 0), "read", 1, 4, 0, False)


def test_no_text_at_all_leaves_whatever_field_it_is_in() -> None:
    for facts in stored_facts()[::3]:
        full = replace(
            facts,
            caveats=(Caveat("text", Span(1, 0, 1, 0, "/home/alice/kernel.py"), "function"),),
            refused={"sm_90": "message"},
            assumed_arguments={"M": "load('/home/alice')"},
            target={"kind": "cuda", "arch": "sm_90", "tag": "host"},
            attributes={"tma": False, "other": "text"},
            sizes={"n": 5},
            assumed={"m": 6},
            built=Built("reorder", 0, 1, "main", 1, ("float32[1, 784]", "text")),
            requires=(Requirement("tma"),),
            lowered=(LoweredLaunch("sm_90", 128, 1024, moves=(Move("A", "read", "tma"),)),),
            compiled=(CompiledLaunch("sm_90", 168, local_accesses=(LOCAL,)),),
        )
        data = with_canaries(json.loads(dumps(full)))
        for keeps_names in (False, True):
            # The names of arrays and kernels are canaries as well, which kept names would have.
            written = dumps(Anonymiser(keeps_names).facts(from_json(KernelFacts, data))).decode()
            if keeps_names:
                assert "alice" not in written
                assert "CANARY_text" not in written
            else:
                assert "CANARY" not in written


def test_words_of_the_facts_themselves_stay() -> None:
    facts = stored_facts()[0]
    written = dumps(Anonymiser().facts(facts)).decode()
    assert '"framework":"' in written
    assert any(f'"kind":"{kind}"' in written for kind in ("grid", "block", "serial", "parallel"))
    assert "float" in written


def test_kept_names_are_words_and_nothing_else() -> None:
    facts = replace(stored_facts()[0], name="main", definition="matmul", call="matmul('/home/a')")
    kept = Anonymiser(keeps_names=True).facts(facts)
    assert (kept.name, kept.definition, kept.call) == ("main", "matmul", "matmul(...)")
    odd = Anonymiser(keeps_names=True).facts(replace(facts, definition="/home/alice; rm"))
    assert "alice" not in odd.definition


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("NVIDIA H100 80GB HBM3", True),
        ("NVIDIA GeForce RTX 4090", True),
        ("AMD Instinct MI300X", True),
        ("NVIDIA A100-SXM4-80GB", True),
        ("alice-workstation", False),
        ("NVIDIA H100 of alice", False),
        ("gpu07.cluster.acme.com", False),
        ("", False),
    ],
)
def test_the_name_of_a_board_has_words_of_boards_alone(name: str, kept: bool) -> None:
    kernel = bundled(stored_facts()[0], device_name=name)
    assert kernel.measurement.device_name == (name if kept else None)


def test_counters_are_those_of_profilers() -> None:
    counters = {
        "dram__bytes_read.sum": 1.0,
        "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": 2.0,
        "TCC_EA_RDREQ_sum": 3.0,
        "launch__registers_per_thread": 4.0,
        "host alice": 5.0,
        "/home/alice": 6.0,
        "alice_counter": 7.0,
        "sm__warps_active.avg": float("nan"),
    }
    found = bundled(stored_facts()[0], counters=counters).measurement.counters
    assert list(found.values()) == [1.0, 2.0, 3.0, 4.0]


def test_a_device_file_of_the_user_is_not_written() -> None:
    kernel = BundledKernel(stored_facts()[0], {}, "alice-box", None, measurement())
    assert anonymous(kernel, Anonymiser()) is None


def test_a_build_of_ones_own_has_its_public_version() -> None:
    facts = replace(stored_facts()[0], framework_version="0.27.0.dev3+g12ab.alice")
    assert Anonymiser().facts(facts).framework_version == "0.27.0.dev3"


def test_a_bundle_is_read_again_and_evaluated_by_the_present_model() -> None:
    kernels = [bundled(facts) for facts in stored_facts()[:20]]
    found = read_bundle(bundle_text(kernels))
    assert [item.facts for item in found] == [item.facts for item in kernels]
    assert [item.measurement for item in found] == [item.measurement for item in kernels]
    assert [item.report().time_s for item in found] == [item.report().time_s for item in kernels]


def changed(fields: dict[str, Any]) -> str:
    """A bundle with other values in its only kernel."""
    document = json.loads(bundle_text([bundled(stored_facts()[0])]))
    for name, value in fields.items():
        where, _, key = name.rpartition("__")
        (document["kernels"][0][where] if where else document["kernels"][0])[key] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "is no bundle"),
        ('{"a": 1}', "is no bundle"),
        ('{"tirlens_residual_bundle": 9}', "version 9"),
        ({"device": "/etc/passwd"}, "not in the catalogue"),
        ({"facts": {}}, "kernel 1 cannot be read"),
        ({"facts": {"body": 3}}, "kernel 1 cannot be read"),
        ({"facts": None}, "kernel 1 cannot be read"),
        ({"measured__time_s": "x"}, "no number"),
        ({"measured__time_s": -1}, "no figure"),
        ({"measured__counters": {"a": None}}, "no number"),
        ({"measured__grid": [1, 2]}, "kernel 1 cannot be read"),
        ({"bindings": {"n": "x"}}, "no whole number"),
        (json.dumps({"tirlens_residual_bundle": 1, "kernels": [7]}), "kernel 1 cannot be read"),
    ],
)
def test_another_file_is_refused_with_the_place(text: str | dict[str, Any], message: str) -> None:
    with pytest.raises(BundleError, match=message):
        read_bundle(text if isinstance(text, str) else changed(text))


def all_strings(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield key
            yield from all_strings(value)
    elif isinstance(data, list):
        for value in data:
            yield from all_strings(value)
    elif isinstance(data, str):
        yield data


def test_names_in_the_evidence_are_the_new_ones() -> None:
    for facts in stored_facts():
        report = analyze(facts, DEVICE)
        if report.time_s is None or report.bound != "dram" or report.dram_bytes.total is None:
            continue
        read = 3.0 * report.dram_bytes.total
        counters = {"dram__bytes_read.sum": read, "dram__bytes_write.sum": read}
        named = replace(
            facts,
            buffers=tuple(
                replace(one, name=f"secret_{number}") for number, one in enumerate(facts.buffers)
            ),
        )
        document = json.loads(
            bundle_text([bundled(named, time_s=4 * report.time_s, counters=counters)])
        )
        assert document["kernels"][0]["mechanisms"]
        assert not any("secret" in text for text in all_strings(document))
        return
    pytest.fail("no kernel is bound by DRAM")

"""Requirement 14: the model is asked again only for kernels that it has not just seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from support import kernels
from tirlens import source
from tirlens.hardware import Device
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport, Modelled, Options, modelled, report
from tirlens.pipeline.moved import Moved
from tirlens_worker import codec
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

NAMES = ("first", "second", "third")
OPTIONS = Options(device="h100-sxm", force_device=True)


def facts_of(*names: str, k: int = 4096) -> tuple[KernelFacts, ...]:
    """A kernel of each name, 100 lines apart, as a worker would tell them."""
    plain = replace(kernels.gemm(k=k), name="main")
    return tuple(
        at_line(replace(plain, definition=name), 100 * number) for number, name in enumerate(names)
    )


def at_line(facts: KernelFacts, shift: int) -> KernelFacts:
    return Moved(((1, 10_000),), ((1 + shift, 10_000 + shift),)).value(facts)


def anew(facts: tuple[KernelFacts, ...]) -> tuple[KernelFacts, ...]:
    """Equal facts that share nothing with these, as a second analysis brings them."""
    return tuple(codec.loads(KernelFacts, codec.dumps(item)) for item in facts)


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The definitions that the model has been asked for, in order."""
    seen: list[str] = []
    real = modelled.evaluate

    def count(
        facts: KernelFacts, device: Device, bindings: Mapping[str, int], advice: bool
    ) -> KernelReport:
        seen.append(facts.definition)
        return real(facts, device, bindings, advice)

    monkeypatch.setattr(modelled, "evaluate", count)
    return seen


def shown(
    kept: Modelled | None, facts: tuple[KernelFacts, ...], options: Options = OPTIONS
) -> FileReport:
    return report(source.read(""), Result(1, kernels=facts), options, "a.py", kept)


Change = Callable[[tuple[KernelFacts, ...]], tuple[KernelFacts, ...]]
CHANGES: dict[str, tuple[Change, list[str]]] = {
    "nothing": (lambda facts: facts, []),
    "traced anew": (anew, []),
    "lines above": (lambda facts: tuple(at_line(item, 7) for item in anew(facts)), []),
    "lines in between": (lambda facts: (*facts[:1], *(at_line(f, 3) for f in facts[1:])), []),
    "another order": (lambda facts: facts[::-1], []),
    "one edited": (
        lambda facts: (facts[0], *facts_of("", "second", k=8192)[1:], facts[2]),
        ["second"],
    ),
    "one gone": (lambda facts: facts[:2], []),
    "one more": (lambda facts: (*facts, *facts_of("", "", "", "fourth")[3:]), ["fourth"]),
    "one lowered": (
        lambda facts: (*facts[:2], replace(facts[2], refused={"sm_90": "it does not fit"})),
        ["third"],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_14_only_what_has_changed_is_modelled_again(name: str, evaluated: list[str]) -> None:
    change, expected = CHANGES[name]
    kept, before = Modelled(), facts_of(*NAMES)
    assert len(shown(kept, before).kernels) == 3
    assert evaluated == list(NAMES)
    evaluated.clear()
    after = change(before)
    found = shown(kept, after)
    assert evaluated == expected
    assert found == shown(None, after), "what is kept is what the model would say"


@pytest.mark.parametrize(
    ("options", "again"),
    [
        (replace(OPTIONS, device="a100-80-sxm"), True),
        (replace(OPTIONS, advice=False), True),
        (replace(OPTIONS, bindings={"m": 5}), True),
        (replace(OPTIONS, time_limit_s=5.0), False),
    ],
)
def test_14_another_device_or_setting_is_another_question(
    options: Options, again: bool, evaluated: list[str]
) -> None:
    kept, facts = Modelled(), facts_of(*NAMES)
    first = shown(kept, facts)
    evaluated.clear()
    assert shown(kept, facts, options) == shown(None, facts, options)
    assert evaluated[: -len(NAMES)] == list(NAMES) * again
    evaluated.clear()
    assert shown(kept, facts) == first
    bindings_differ = options.bindings != OPTIONS.bindings
    assert evaluated == list(NAMES) * bindings_differ, "devices are kept beside each other"


def test_14_no_more_is_kept_than_was_agreed(evaluated: list[str]) -> None:
    kept, facts = Modelled(kept=2), facts_of(*NAMES)
    shown(kept, facts)
    evaluated.clear()
    shown(kept, facts[1:])
    assert evaluated == []
    shown(kept, facts[:1])
    assert evaluated == ["first"]

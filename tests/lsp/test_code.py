"""Generated code and rankings in an editor without an extension: what is opened, asked, written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcInvalidParams

from support.lsp_session import SCALE_FACTS, SCALE_TEXT, ClientHere, run
from support.rpc import CAPABILITIES
from tirlens.hardware import load
from tirlens.lsp import generated_code, tuning
from tirlens.session import code_generation
from tirlens.tuning import ranking_text
from tirlens.tuning.ranking import Configuration, Estimate, Ranking

NOTHING = "TIRLens: Nothing is known of this file yet."
ASKED = "window/showMessageRequest"
SHOWING = {**CAPABILITIES, "window": {"workDoneProgress": True, "showDocument": {"support": True}}}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def code(error: str = "", resources_error: str = "", **texts: list[int]) -> dict[str, Any]:
    """A kernel with a line of code in a language for each of its source's lines."""
    written = {
        language: {"text": "".join(f"row {row} \n" for row in range(len(lines))), "lines": lines}
        for language, lines in texts.items()
    }
    found = {"kernel": "scale", "error": error, "resources_error": resources_error}
    return {**found, "texts": written}


def answer(*kernels: Any, problems: tuple[str, ...] = (), missing: tuple[str, ...] = ()) -> Any:
    return {"kernels": list(kernels), "problems": list(problems), "missing_tools": list(missing)}


CUDA = answer(code(cuda=[8, 0, 12345]))
MARGINS = "/*    8 */ row 0\n/*      */ row 1\n/*12345 */ row 2\n"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"cuda": None}, [NOTHING]),
        ({"cuda": answer()}, [NOTHING]),
        ({"cuda": answer(problems=("", "no GPU"))}, ["TIRLens: no GPU"]),
        ({"cuda": answer(code())}, [NOTHING]),
        ({"cuda": answer(code(sass=[1]), problems=("no GPU",))}, ["TIRLens: no GPU"]),
        ({"cuda": answer(code("refused", "no registers"))}, ["TIRLens: refused"]),
        ({"cuda": answer(code("", "no registers"))}, ["TIRLens: no registers"]),
        ({"cuda": CUDA, "sass": None}, ["scale.cu", NOTHING]),
        ({"cuda": CUDA, "sass": answer(code(cuda=[1]))}, ["scale.cu", NOTHING]),
        ({"cuda": CUDA, "sass": answer(code(sass=[0, 7]))}, ["scale.cu", "scale.sass.txt"]),
    ],
)
def test_generated_code_is_opened_or_why_there_is_none_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answers: Mapping[str, Any],
    said: list[str],
) -> None:
    asked: list[tuple[Any, ...]] = []

    async def generate(session: Any, document: Any, kernel: Any, languages: Any) -> Any:
        asked.append((document.uri, kernel, *languages))
        return answers[languages[0]]

    monkeypatch.setattr(code_generation, "generated_code", generate)

    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        await client.command("tirlens.showGeneratedCode", uri, "scale")
        await client.until(lambda: len(client.messages()) == len(said))
        assert asked == [(uri, "scale", language) for language in answers]
        for message, wanted in zip(client.messages(), said, strict=True):
            assert message == wanted or message.startswith(f"TIRLens: {wanted} is ")
        texts = {
            message.split()[1]: Path(message.partition(" is ")[2]).read_text(encoding="utf-8")
            for message in client.messages()
            if " is " in message and message != NOTHING
        }
        assert texts.get("scale.cu", MARGINS) == MARGINS
        assert texts.get("scale.sass.txt", "") in ("", "      | row 0\n    7 | row 1\n")
        await client.command("tirlens.showGeneratedCode", "file:///unknown.py", "scale")
        await client.until(lambda: len(client.messages()) == len(said) + 1)
        assert client.messages()[-1] == NOTHING

    run(scenario)


@pytest.mark.parametrize("shown", [True, False])
def test_generated_code_is_shown_beside_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: bool
) -> None:
    async def generate(*_: Any) -> Any:
        return answer(code(cuda=[8], sass=[8]))

    monkeypatch.setattr(code_generation, "generated_code", generate)

    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        await client.command("tirlens.showGeneratedCode", uri)
        await client.until(lambda: len(client.sent_requests("window/showDocument")) == 2)
        await client.settle()
        asked = client.sent_requests("window/showDocument")
        assert [each["uri"].rpartition("/")[2] for each in asked] == ["scale.cu", "scale.sass.txt"]
        assert all(each["takeFocus"] is False for each in asked)
        assert len(client.messages()) == (0 if shown else 2)

    run(scenario, capabilities=SHOWING, answers={"window/showDocument": {"success": shown}})


@pytest.mark.parametrize(
    ("agrees", "works", "said"),
    [
        (False, True, []),
        (True, False, ["is being installed.", "no network"]),
        (True, True, ["is being installed.", "is in /folder"]),
    ],
)
def test_the_compiler_is_installed_if_the_user_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agrees: bool, works: bool, said: list[str]
) -> None:
    asked: list[str] = []
    installed: list[str] = []

    async def generate(session: Any, document: Any, kernel: Any, languages: Any) -> Any:
        asked.extend(languages)
        missing = () if installed else ("nvcc", "nvdisasm")
        return answer(code(cuda=[1], sass=[1]), missing=missing)

    async def install(server: Any, uri: str) -> str:
        if not works:
            raise JsonRpcInvalidParams("no network")
        installed.append(uri)
        return "/folder"

    monkeypatch.setattr(code_generation, "generated_code", generate)
    monkeypatch.setattr(generated_code, "install_toolchain", install)
    title = "Install NVIDIA's compiler (350 MB)"

    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        await client.command("tirlens.showGeneratedCode", uri, "scale")
        again = 2 if installed or (agrees and works) else 0
        await client.until(lambda: client.sent_requests(ASKED))
        await client.until(lambda: len(client.messages()) == 1 + len(said) + again or not agrees)
        await client.settle()
        (question,) = client.sent_requests(ASKED)
        assert question["message"] == "TIRLens: no machine code: nvcc and nvdisasm not found."
        assert [each["title"] for each in question["actions"]] == [title]
        # The CUDA source is opened before the question, and both texts once the tools are there.
        messages = client.messages()
        assert len(messages) == 1 + len(said) + again
        assert all(wanted in text for wanted, text in zip(said, messages[1:], strict=False))
        assert asked == ["cuda", "sass"] * (1 + again // 2)
        assert installed == [uri] * (agrees and works)

    run(scenario, answers={ASKED: {"title": title} if agrees else None})


# A file with the kernel in a function that has defaults.

BODY = "".join(f"    {line}\n" for line in SCALE_TEXT.partition("\n\n\n")[2].splitlines())
TUNED = (
    f"{SCALE_TEXT.partition('@')[0]}def make(n, block_M=16, stages=1):\n{BODY}"
    "    return scale\n\n\nmake(256)\n"
)
HEADER = TUNED.splitlines().index("def make(n, block_M=16, stages=1):")


def ranking(*configurations: tuple[dict[str, str], float | None]) -> Ranking:
    found = tuple(
        Configuration(rank, arguments, "make(256)", Estimate(time_s, reason="refused"))
        for rank, (arguments, time_s) in enumerate(configurations, 1)
    )
    return Ranking("make", "make(256)", load("h100-sxm"), found, 1.0, "autotune")


RANKED = ranking(({"block_M": "64", "stages": "1"}, 1e-4), ({"block_M": "16"}, 2e-4))
NO_DEFAULT = ranking(({"block_K": "64"}, 1e-4))
UNTIMED = ranking(({"block_M": "64"}, None))
DEFAULTS = ranking(({"block_M": "16"}, 1e-4))


@pytest.mark.parametrize(
    ("found", "answers", "chosen", "written"),
    [
        (RANKED, ["Write as defaults", "Show all"], "Write as defaults", True),
        (RANKED, ["Write as defaults", "Show all"], "Show all", False),
        (RANKED, ["Write as defaults", "Show all"], None, False),
        (NO_DEFAULT, ["Show all"], "Write as defaults", False),
        (DEFAULTS, ["Show all"], "Show all", False),
        (UNTIMED, None, "Show all", False),
    ],
)
def test_the_best_configuration_is_written_or_all_are_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: Ranking,
    answers: list[str] | None,
    chosen: str | None,
    written: bool,
) -> None:
    async def rank(*_: Any) -> Ranking:
        return found

    monkeypatch.setattr(tuning, "_rank", rank)

    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", TUNED, SCALE_FACTS)
        await client.command("tirlens.tuneKernel", uri, "make")
        await client.until(lambda: client.sent_requests(ASKED) or client.messages())
        await client.settle()
        titles = [
            [each["title"] for each in asked["actions"]] for asked in client.sent_requests(ASKED)
        ]
        assert titles == ([] if answers is None else [answers])
        edits = client.sent_requests("workspace/applyEdit")
        assert len(edits) == written
        for edit in edits:
            ((change,),) = edit["edit"]["changes"].values()
            assert list(edit["edit"]["changes"]) == [uri]
            start, end = change["range"]["start"], change["range"]["end"]
            assert start["line"] == end["line"] == HEADER
            column = TUNED.splitlines()[HEADER].index("16")
            assert (start["character"], end["character"]) == (column, column + 2)
            assert change["newText"] == "64"
        said = client.messages()
        if answers is None:
            assert said == ["TIRLens: " + ranking_text.summary(found)]
        elif chosen == "Show all":
            (message,) = said
            assert message.startswith("TIRLens: make.configurations.md is ")
            text = Path(message.partition(" is ")[2]).read_text(encoding="utf-8")
            assert text == ranking_text.markdown(found)
        else:
            assert said == []

    run(scenario, answers={ASKED: chosen and {"title": chosen}})


def test_a_ranking_is_not_written_over_lines_that_were_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines above may have moved the header, and the header itself may be another one."""

    async def rank(*_: Any) -> Ranking:
        return RANKED

    monkeypatch.setattr(tuning, "_rank", rank)

    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", TUNED, SCALE_FACTS)
        client.edit(uri, 2, {"text": f"# above\n{TUNED}"})
        await client.command("tirlens.tuneKernel", uri)
        await client.until(lambda: client.sent_requests("workspace/applyEdit"))
        (edit,) = client.sent_requests("workspace/applyEdit")
        ((change,),) = edit["edit"]["changes"].values()
        assert change["range"]["start"]["line"] == HEADER + 1
        client.edit(uri, 3, {"text": TUNED.replace("stages=1", "stages=2")})
        await client.command("tirlens.tuneKernel", uri)
        await client.until(lambda: len(client.sent_requests(ASKED)) == 2)
        asked = client.sent_requests(ASKED)[-1]
        assert [each["title"] for each in asked["actions"]] == ["Show all"]

    run(scenario, answers={ASKED: {"title": "Write as defaults"}})


@pytest.mark.parametrize("trusted", [True, False])
def test_nothing_is_ranked_without_a_kernel_an_analysis_or_trust(
    tmp_path: Path, trusted: bool
) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "b.py", "x = 1\n")
        cases = [("file:///unknown.py", None), (uri, None)]
        if trusted:
            known = await client.analysed(tmp_path / "a.py", TUNED, SCALE_FACTS)
            cases.append((known, "other"))
        for number, (name, kernel) in enumerate(cases, 1):
            await client.command("tirlens.tuneKernel", name, kernel)
            await client.until(lambda number=number: len(client.messages()) == number)
        assert client.messages() == [NOTHING] * len(cases)
        assert client.sent_requests(ASKED) == []

    run(scenario, trusted=trusted)

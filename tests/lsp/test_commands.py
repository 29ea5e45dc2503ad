"""The commands: their answers, what they ask of the user, and the arguments that they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.lsp_session import SCALE_FACTS, SCALE_TEXT, ClientHere, run
from support.rpc import CAPABILITIES, RpcError
from tirlens import hardware

SHOWING = {**CAPABILITIES, "window": {"workDoneProgress": True, "showDocument": {"support": True}}}


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports and baselines are stored in the folders of the test."""
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def test_a_report_has_the_text_of_its_kernels(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        unknown = client.open(tmp_path / "b.py", "x = 1\n")
        assert await client.command("tirlens.report", "file:///unknown.py") is None
        assert await client.command("tirlens.reportPage", "file:///unknown.py") is None
        document = client.server.document(unknown)
        assert document is not None
        client.server.session.analyses.stop(document)
        assert await client.command("tirlens.report", unknown) is None
        assert await client.command("tirlens.reportPage", unknown) is None
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        report = await client.command("tirlens.report", uri)
        assert report["title"] == "a.py"
        assert [each["name"] for each in report["json"]["kernels"]] == ["scale"]
        # The page is read without an editor beside it: it has the lines of the source.
        assert "A[i * 128 + j] = A[i * 128 + j] * T.float32(2)" in report["html"]
        page = await client.command("tirlens.reportPage", uri, {"kernel": 0, "comparison": ""})
        assert page

    run(scenario)


def test_the_hottest_line_is_that_of_the_statement(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        found = await client.command("tirlens.hottestLine", uri)
        assert (found["line"], found["character"], found["kernel"]) == (7, 12, "scale")
        assert 0 < found["share"] <= 1
        assert found["time_s"] > 0
        assert await client.command("tirlens.hottestLine", uri, 5) == found
        assert await client.command("tirlens.hottestLine", "file:///unknown.py") is None
        assert await client.command("tirlens.heat", "file:///unknown.py") == []
        assert 7 in {each["line"] for each in await client.command("tirlens.heat", uri)}

    run(scenario, settings={"gutterHeat": True})


def test_a_device_is_set_for_one_file_or_for_all(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        files = [tmp_path / name for name in ("a.py", "b.py")]
        one, other = [await client.analysed(file, SCALE_TEXT, SCALE_FACTS) for file in files]

        def device(uri: str) -> str | None:
            document = client.server.document(uri)
            assert document is not None
            return document.device

        await client.command("tirlens.setDevice", one, "a100-80-sxm")
        assert (device(one), device(other)) == ("a100-80-sxm", None)
        await client.command("tirlens.setDevice", None, "t4")
        assert (device(one), device(other)) == ("t4", "t4")
        await client.command("tirlens.setDevice", one, None)
        assert (device(one), device(other)) == (None, "t4")
        with pytest.raises(RpcError):
            await client.command("tirlens.setDevice", one, "no-such-device")
        await client.command("tirlens.setCall", one, "scale", "scale(3)")
        document = client.server.document(one)
        assert document is not None and document.calls == {"scale": "scale(3)"}
        await client.command("tirlens.setCall", one, "scale", None)
        assert document.calls == {}

    run(scenario)


def test_devices_are_listed_with_their_rates() -> None:
    async def scenario(client: ClientHere) -> None:
        found = await client.command("tirlens.devices")
        assert {each["id"] for each in found} == set(hardware.catalogue())
        (h100,) = [each for each in found if each["id"] == "h100-sxm"]
        assert h100["name"] == "NVIDIA H100 SXM5 80 GB"
        assert h100["detail"] == "132 SMs, 3.35 TB/s DRAM, 989 TFLOP/s float16"

    run(scenario)


def test_what_is_displayed_is_chosen_in_turn() -> None:
    async def scenario(client: ClientHere) -> None:
        found = [await client.command("tirlens.show") for _ in range(4)]
        assert found == ["hottest", "marked", "off", "all"]
        assert await client.command("tirlens.show", "off") == "off"
        with pytest.raises(RpcError):
            await client.command("tirlens.show", "some")
        await client.command("tirlens.toggle")
        assert client.messages() == ["TIRLens: displays lenses and hints of all kernels."]

    run(scenario)


@pytest.mark.parametrize(
    ("given", "room"),
    [((80, 40), (80, 40)), ((0, 0), (1, 1)), ((None, 40), None), ((80, None), None)],
)
def test_the_room_of_a_text_is_at_least_a_character(
    tmp_path: Path, given: tuple[Any, Any], room: tuple[int, int] | None
) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", "x = 1\n")
        await client.command("tirlens.setRoom", uri, *given)
        document = client.server.document(uri)
        assert document is not None
        found = document.room
        assert (found and (found.columns, found.lens_characters)) == room
        for wrong in (("80", 40), (80, 4.5)):
            with pytest.raises(RpcError):
                await client.command("tirlens.setRoom", uri, *wrong)

    run(scenario, trusted=False)


def test_debug_information_has_no_source(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        found = await client.command("tirlens.debugInformation")
        assert (found["open_files"], found["trusted"]) == (1, True)
        assert found["uptime_s"] > 0
        assert set(found["packages"]) == {"pygls", "lsprotocol", "numpy", "rich", "platformdirs"}
        assert "scale" not in str({**found, "modules": ()})

    run(scenario)


def test_a_baseline_is_pinned_and_cleared(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        await client.command("tirlens.pin", uri)
        await client.until(client.messages)
        assert client.messages()[0].startswith("TIRLens: Kernels are compared with ")
        await client.command("tirlens.unpin", uri)
        await client.until(lambda: len(client.messages()) == 2)
        assert client.messages()[1] == "TIRLens: Kernels are compared with the last save only."
        # A folder that is no repository has no revision.
        await client.command("tirlens.pin", uri, "main")
        await client.until(lambda: len(client.messages()) == 3)
        with pytest.raises(RpcError):
            await client.command("tirlens.pinBaseline", uri, "main")

    run(scenario)


def test_git_is_not_run_in_an_untrusted_workspace(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        with pytest.raises(RpcError, match="untrusted"):
            await client.command("tirlens.pinBaseline", uri, "main")
        # The present version needs no git.
        await client.command("tirlens.pinBaseline", uri)

    run(scenario, trusted=False)


@pytest.mark.parametrize("shown", [True, False, None])
def test_a_report_is_opened_or_its_file_is_named(tmp_path: Path, shown: bool | None) -> None:
    answers = {"window/showDocument": {"success": shown}}

    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        await client.command("tirlens.showReport", uri, "scale")
        said = client.messages if not shown else lambda: client.sent_requests("window/showDocument")
        await client.until(said)
        asked = client.sent_requests("window/showDocument")
        assert len(asked) == (shown is not None)
        if asked:
            assert asked[0]["external"] is True
            file = Path(asked[0]["uri"].removeprefix("file://"))
            assert "scale" in file.read_text(encoding="utf-8")
        if shown:
            assert client.messages() == []
        else:
            assert client.messages()[0].startswith("TIRLens: The report is in ")
        await client.command("tirlens.goToHottestLine", uri, 5)
        await client.until(lambda: len(said()) == 2)
        asked = client.sent_requests("window/showDocument")
        assert len(asked) == (0 if shown is None else 2)
        if shown:
            place = client.sent_requests("window/showDocument")[-1]
            assert (place["uri"], place["takeFocus"]) == (uri, True)
            assert place["selection"]["start"] == {"line": 7, "character": 12}
        else:
            assert client.messages()[-1].startswith("TIRLens: Line 8 takes ")
        for command in ("tirlens.showReport", "tirlens.goToHottestLine"):
            before = len(client.messages())
            await client.command(command, "file:///unknown.py")
            await client.until(lambda before=before: len(client.messages()) > before)
            assert client.messages()[-1] == "TIRLens: Nothing is known of this file yet."

    run(scenario, capabilities=CAPABILITIES if shown is None else SHOWING, answers=answers)


@pytest.mark.parametrize("chosen", ["t4", "no-such-device", None])
def test_a_device_is_chosen_from_the_catalogue(tmp_path: Path, chosen: str | None) -> None:
    answers = {"window/showMessageRequest": chosen and {"title": chosen}}

    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        await client.command("tirlens.chooseDevice")
        await client.until(lambda: client.sent_requests("window/showMessageRequest"))
        await client.settle()
        (asked,) = client.sent_requests("window/showMessageRequest")
        assert [action["title"] for action in asked["actions"]] == list(hardware.catalogue())
        document = client.server.document(uri)
        assert document is not None
        assert document.device == (chosen if chosen == "t4" else None)

    run(scenario, answers=answers)


@pytest.mark.parametrize("applied", [True, False])
def test_a_call_is_chosen_and_written(tmp_path: Path, applied: bool) -> None:
    answers = {
        "window/showMessageRequest": {"title": "make(256)"},
        "workspace/applyEdit": {"applied": applied},
    }
    head, _, rest = SCALE_TEXT.partition("@T.prim_func\n")
    body = "".join(f"    {line}\n" for line in f"@T.prim_func\n{rest}".splitlines())
    text = f"{head}def make(n):\n{body}    return scale\n\n\nmake(256)\n"

    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", text)
        await client.until(lambda: client.states(uri))
        document = client.server.document(uri)
        assert document is not None
        before = document.generation
        await client.command("tirlens.chooseCall", uri, "make")
        await client.until(lambda: client.sent_requests("workspace/applyEdit"))
        await client.settle()
        (edit,) = client.sent_requests("workspace/applyEdit")
        ((change,),) = edit["edit"]["changes"].values()
        assert change["newText"] == "# tirlens: make(256)\n"
        assert (document.generation > before) == applied

    run(scenario, answers=answers)


def test_shapes_that_are_fixed_are_said_with_their_line(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        await client.command("tirlens.chooseCall", uri, "scale")
        (said,) = client.messages()
        assert "The shapes of scale are fixed by its source, line 5: " in said
        calls = await client.command("tirlens.calls", uri, "scale")
        assert calls["fixed"]["line"] == 5
        assert await client.command("tirlens.calls", uri, "none") is None
        assert await client.command("tirlens.calls", "file:///unknown.py") is None
        await client.command("tirlens.manageTrust")
        assert "--trust-workspace" in client.messages()[-1]

    run(scenario)

"""The ranking of a kernel's configurations in the editor, and the best one as its defaults.

``tirlens.tuneKernel`` [uri, kernel | null] ranks as `tirlens tune` does, with progress that can be
cancelled, and asks whether the best configuration is written or all are shown.  It answers at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from lsprotocol import types

from tirlens.lsp import commands, dialogs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirlens.lsp.notebooks import Parts
    from tirlens.lsp.server import Server
    from tirlens.session import Document
    from tirlens.session.analysis import Analysis
    from tirlens.source import KernelSource
    from tirlens.tuning import Progress, Ranking
    from tirlens_worker.protocol import Analyze, Result

_WRITE, _SHOW = "Write as defaults", "Show all"


def tune_kernel(server: Server, uri: object = None, kernel: object = None) -> None:
    """Rank the configurations of a kernel, and ask what to do with the best one."""
    name = None if kernel is None else commands.text(kernel, "kernel")
    dialogs.begin(_tune(server, commands.text(uri, "uri"), name))


TABLE: dict[str, commands.Function] = {"tirlens.tuneKernel": tune_kernel}


async def _tune(server: Server, uri: str, name: str | None) -> None:
    from tirlens.hardware import DeviceError
    from tirlens.tuning import SpaceError, SubjectError, ranking_text

    parts = server.parts(uri)
    document = parts.document if parts is not None else None
    analysis = document.analysis if document is not None else None
    if document is None or analysis is None or not server.session.configuration.trusted:
        dialogs.say(server, dialogs.NOTHING)
        return
    kernels = analysis.reading.source.kernels
    kernel = next((one for one in kernels if name in (None, one.name)), None)
    if kernel is None:
        dialogs.say(server, dialogs.NOTHING)
        return

    async def work(report: Callable[[str, int | None], None]) -> Ranking:
        return await _rank(server, document, analysis, kernel, report)

    try:
        title = f"TIRLens: ranking the configurations of {kernel.name}"
        ranking = await server.client.with_progress(title, work)
    except asyncio.CancelledError:
        return
    except (SubjectError, SpaceError, DeviceError) as error:
        dialogs.say(server, str(error))
        return
    if not ranking.timed:
        dialogs.say(server, ranking_text.summary(ranking))
        return
    edit = _edit(server, document, analysis, kernel, ranking)
    answers = [_SHOW] if edit is None else [_WRITE, _SHOW]
    chosen = await dialogs.ask(server, ranking_text.summary(ranking), answers)
    if chosen == _SHOW:
        text = ranking_text.markdown(ranking)
        await dialogs.open_text(server, uri, f"{kernel.name}.configurations.md", text)
    elif chosen == _WRITE and edit is not None:
        params = types.ApplyWorkspaceEditParams(edit=edit, label="TIRLens configuration")
        await server.workspace_apply_edit_async(params)


async def _rank(
    server: Server,
    document: Document,
    analysis: Analysis,
    kernel: KernelSource,
    report: Callable[[str, int | None], None],
) -> Ranking:
    """The ranking of a kernel of the analysed text on its device.

    Raises:
        SubjectError, SpaceError: there are no configurations, or they do not fit the kernel.
        DeviceError: there is no such device.
    """
    from tirlens import tuning
    from tirlens.session.job import find_environment

    reading, options = analysis.reading, analysis.options
    configuration = server.session.configuration.at(document.path)
    environment = await asyncio.to_thread(find_environment, configuration, document, reading)
    if options is None or environment.interpreter.problem is not None:
        raise tuning.SubjectError(f"{kernel.name} is not analysed")
    source = replace(reading.source, kernels=(kernel,))
    subject = tuning.subject_of(str(document.path), reading.text, source, options)
    devices = subject.devices(())

    async def analyse(request: Analyze) -> Result:
        return await server.session.analyses.queues.defer(
            environment.interpreter, f"{document.uri}#tune{kernel.name}", request
        )

    def tell(progress: Progress) -> None:
        percentage = 100 * progress.done // progress.total if progress.total else None
        report(f"{progress.done:,} of {progress.total:,}", percentage)

    start = await tuning.start_of(subject, analyse)
    plan = await asyncio.to_thread(tuning.plan_search, subject, start, ())
    estimate = tuning.estimator(subject, devices, analyse)
    (ranking,) = await tuning.rank(plan, subject, start, devices, estimate, on_progress=tell)
    return ranking


def _edit(
    server: Server, document: Document, analysis: Analysis, kernel: KernelSource, ranking: Ranking
) -> types.WorkspaceEdit | None:
    """Makes the best configuration the defaults, where the text still has the analysed lines."""
    from tirlens.tuning.defaults import default_edits

    best = ranking.timed[0]
    edits = default_edits(analysis.reading.text, kernel, best.arguments)
    lines = document.map_from(analysis.reading)
    parts: Parts = server.notebooks.parts(document)
    changes: dict[str, list[types.TextEdit]] = {}
    for one in edits or ():
        if not lines.is_unchanged(one.span.line, one.span.end_line):
            return None
        part, place = parts.place(lines.current_span(one.span), server.client.encoding)
        changes.setdefault(part.uri, []).append(types.TextEdit(place, one.new_text))
    return types.WorkspaceEdit(changes=changes) if changes else None

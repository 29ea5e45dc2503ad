"""What a session tells of an analysis in which the server itself fails."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest import mock

from tirlens.session.analyses import Analyses
from tirlens.session.configuration import Configuration
from tirlens.session.document import Document
from tirlens.session.listener import Listener, Status
from tirlens.session.readings import Readings


def test_a_defect_of_ours_is_an_error_and_not_an_idle_file() -> None:
    listener = mock.create_autospec(Listener, instance=True)
    readings = mock.create_autospec(Readings, instance=True)
    readings.of_saved_text.side_effect = ValueError("broken")

    async def analysed() -> None:
        analyses = Analyses(listener, readings, lambda: Configuration(trusted=True))
        analyses.begin(Document("file:///k.py", Path("/k.py"), 1, "", ""))
        while not listener.status.called:
            await asyncio.sleep(0)
        await analyses.close()

    asyncio.run(analysed())
    message = "internal error: ValueError: broken"
    listener.status.assert_called_once_with(Status("file:///k.py", "error", message))

"""A page that needs no server: the data, the script and the style sheet in one document."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from html import escape
from pathlib import Path

from tirlens.file_reader import read_text
from tirlens.ide.report_page.schema import Page

_NO_SCRIPT = "This report is drawn by the script inside of it: allow scripts for this file."


@lru_cache
def asset(name: str) -> str:
    """The text of ``report.js`` or ``report.css``."""
    return read_text(Path(__file__).with_name(name))


def static_page(data: Page) -> str:
    """A self-contained document for the data of a report page; it loads nothing."""
    return document(data, asset("report.js"), asset("report.css"))


def document(data: Mapping[str, object], script: str, style: str) -> str:
    """A document of some data, the script that displays it in ``#report``, and its style sheet."""
    policy = (
        "default-src 'none'; img-src data: blob:; "
        f"script-src '{_digest(script)}'; style-src '{_digest(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    title = escape(f"TIRLens: {data['title']}")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head>\n"
        f'<body><div id="report"></div><noscript>{_NO_SCRIPT}</noscript>\n'
        f'<script type="application/json" id="data">{_embed_json(data)}</script>\n'
        f"<script>{script}</script></body></html>\n"
    )


def _embed_json(data: Mapping[str, object]) -> str:
    """JSON that cannot end the element that holds it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"

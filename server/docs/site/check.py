"""Check the links of a built site: ``python server/docs/site/check.py SITE``.

Every link to a page of the site, and to a place in one, must lead there. No page may load anything
from another host: the site works without a network.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, by element.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
# Links of the head that name a place and load nothing.
NAMED_ONLY = frozenset({"canonical", "next", "prev", "alternate", "edit", "search"})


class Page(HTMLParser):
    """The places that a page has, the links that it makes and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        given = dict(attrs)
        for key in ("id", "name"):
            if given.get(key):
                self.places.add(str(given[key]))
        target = given.get(LOADED.get(tag, "href"))
        if target is None:
            return
        loads = tag in LOADED and not NAMED_ONLY & set(str(given.get("rel")).split())
        (self.loaded if loads else self.links).add(target)


def complaints(site: Path) -> Iterator[str]:
    """What is wrong with the links of the pages of a folder."""
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        if path.name == "404.html":
            # Its links hold for the address that the site is served at.
            continue
        name = path.relative_to(site.resolve())
        for target in sorted(page.loaded):
            if urlsplit(target).netloc:
                yield f"{name}: loads {target}"
        for target in sorted(page.links | page.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            wanted = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            wanted = wanted / "index.html" if wanted.is_dir() else wanted
            if not wanted.exists():
                yield f"{name}: {target} leads nowhere"
            elif parts.fragment and wanted in pages:
                known = pages[wanted].places
                if unquote(parts.fragment) not in known and parts.fragment != "__top":
                    yield f"{name}: {target}: there is no such place on that page"


def main() -> int:
    """The exit status: 1 where a link is wrong."""
    site = Path(sys.argv[1])
    found = list(complaints(site))
    print("\n".join(found) or f"the links of {len(list(site.rglob('*.html')))} pages are right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

# pyright: basic, reportMissingImports=false
"""What mkdocs does not do by itself: generated pages, links out of the folder, mathematics.

Pages of advice rules come from the rules' docstrings, pages of devices from their files, the page
of constants from their registry, the page of modules from their docstrings. A link to a file of the
repository that is no page becomes one to its place on GitHub. Equations are written as MathML,
which browsers show without scripts or fonts from elsewhere.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

SITE = Path(__file__).resolve().parent
DOCS = SITE.parent
ROOT = DOCS.parents[1]
sys.path.insert(0, str(DOCS.parent))

import module_list  # noqa: E402
import pages  # noqa: E402

# Documents outside of the folder that are pages of the site, too.
MOUNTED = {
    "contributing.md": ROOT / ".github/CONTRIBUTING.md",
    "architecture.md": ROOT / "server/ARCHITECTURE.md",
    "changelog.md": ROOT / "CHANGELOG.md",
}
MODULES = "modules.md"
ASSETS = {
    "site.css": SITE / "site.css",
    "favicon.svg": SITE / "favicon.svg",
    "images/editor.png": ROOT / "tests/vscode/screenshots/editor.png",
}
# A fenced block, which is left as it is, or a link.
FENCED_OR_LINK = re.compile(
    r"^ *(?P<fence>`{3,}).*?^ *(?P=fence) *$|(?P<label>!?\[[^\]]*\])\((?P<target>[^)\s]+)\)",
    re.DOTALL | re.MULTILINE,
)
# Blocks of plain text with longer lines get smaller letters; pages full of them no side column.
WIDE_COLUMNS = 84
WIDE_PAGES = frozenset({"accuracy-rows.md", "cpu-rows.md", "tour.md"})
BLOCK = re.compile(r"<pre>(.*?)</pre>", re.DOTALL)
MATH = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_config(config: MkDocsConfig) -> None:
    """Put the generated pages into the navigation."""
    config.nav = _filled(config.nav or [])


def _filled(nav: list) -> list:
    """The navigation with generated pages in place of their marks."""
    generated = {
        "generated: advice": list(pages.rules()),
        "generated: advice on measured operations": list(pages.rules("measured-advice")),
        "generated: devices": list(pages.devices()),
        "generated: constants": list(pages.constants()),
        "generated: project": [*MOUNTED, MODULES],
    }
    found = []
    for entry in nav:
        if isinstance(entry, dict):
            found.append(
                {
                    name: _filled(inner) if isinstance(inner, list) else inner
                    for name, inner in entry.items()
                }
            )
        else:
            found.extend(generated.get(entry, [entry]))
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, the mounted documents and the assets."""
    of_rules = {**pages.rules(), **pages.rules("measured-advice")}
    generated = {**of_rules, **pages.devices(), **pages.constants(), MODULES: module_list.page()}
    for path, text in generated.items():
        files.append(File.generated(config, path, content=text))
    for path, source in {**MOUNTED, **ASSETS}.items():
        files.append(File.generated(config, path, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in the generated tables, and redirect links that leave the folder of the pages."""
    for mark, table in pages.TABLES.items():
        if mark in markdown:
            markdown = markdown.replace(mark, table())
    path = page.file.src_uri
    if path in WIDE_PAGES:
        page.meta["hide"] = ["toc"]
    if path == MODULES:
        return markdown
    here = (MOUNTED[path] if path in MOUNTED else DOCS / path).parent

    def redirected(found: re.Match[str]) -> str:
        if found["fence"]:
            return found[0]
        return f"{found['label']}({_target(found['target'], here, path, config)})"

    return FENCED_OR_LINK.sub(redirected, markdown)


def _target(target: str, here: Path, page: str, config: MkDocsConfig) -> str:
    """Where a link of a page leads to on the site, or on GitHub."""
    name, _, anchor = target.partition("#")
    if not name or re.match(r"[a-z]+:", target):
        return target
    wanted = (here / name).resolve()
    up = "../" * page.count("/")
    known = {source: path for path, source in {**MOUNTED, **ASSETS}.items()}
    if wanted in known:
        return up + known[wanted] + ("#" + anchor if anchor else "")
    if wanted.is_relative_to(DOCS):
        if page in MOUNTED:
            return up + str(wanted.relative_to(DOCS)) + ("#" + anchor if anchor else "")
        return target
    if not wanted.exists() or not wanted.is_relative_to(ROOT):
        raise PluginError(f"{page}: the link to {target} leads nowhere")
    kind = "tree" if wanted.is_dir() else "blob"
    path = wanted.relative_to(ROOT)
    repository = (config.repo_url or "").rstrip("/")
    return f"{repository}/{kind}/main/{path}" + ("#" + anchor if anchor else "")


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write equations as MathML, and mark blocks with long lines."""

    def mathml(found: re.Match[str]) -> str:
        source = found[2].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
        display = "block" if found[1] == "div" else "inline"
        return convert(source, display=display)

    def marked(found: re.Match[str]) -> str:
        lines = re.sub(r"<[^>]*>|&[a-z]+;", "", found[1]).split("\n")
        wide = max(map(len, lines)) > WIDE_COLUMNS
        return f'<pre class="wide">{found[1]}</pre>' if wide else found[0]

    return BLOCK.sub(marked, MATH.sub(mathml, html))

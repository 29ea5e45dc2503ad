/** The tree of a kernel's lines, with bars for their time. */

import { bar, el } from "./dom";
import type { Host } from "./host";
import type { AnalysedKernel, Column, Row } from "./schema";

/** The rows of a kernel that the reader has folded, by their keys. */
export interface Folded {
  has(key: string): boolean;
  set(key: string, folded: boolean): void;
}

interface Entry {
  row: Row;
  key: string;
  element: HTMLTableRowElement;
  parent: Entry | undefined;
  hasChildren: boolean;
  open: boolean;
}

/** The tree, and the rows of each line so that the cursor of an editor can be followed. */
export function tree(
  host: Host,
  kernel: AnalysedKernel,
  folded: Folded,
): { element: HTMLElement; follow: (line: number) => void } {
  const keys = keysOf(kernel.rows);
  const compares = kernel.before !== null;
  const entries: Entry[] = [];
  kernel.rows.forEach((row, index) => {
    const hasChildren = (kernel.rows[index + 1]?.depth ?? 0) > row.depth;
    const parent = entries.findLast((entry) => entry.row.depth < row.depth);
    const key = keys[index] ?? "";
    const entry: Entry = { row, key, element: line(host, row, kernel.columns, hasChildren, compares), parent, hasChildren, open: true };
    entries.push(entry);
    entry.element.dataset.key = key;
    entry.element.tabIndex = index === 0 ? 0 : -1;
    entry.element.querySelector(".twisty")?.addEventListener("click", (event) => {
      event.stopPropagation();
      toggle(entries, entry, !entry.open);
      folded.set(key, !entry.open);
    });
  });
  for (const entry of entries.filter(({ key, hasChildren }) => hasChildren && folded.has(key))) {
    toggle(entries, entry, false);
  }
  const body = el("tbody", {}, ...entries.map(({ element }) => element));
  body.addEventListener("keydown", (event) => {
    steer(host, entries, folded, event);
  });
  // The row that has or had the focus is the one that the Tab key leads to.
  body.addEventListener("focusin", ({ target }) => {
    if (entries.some(({ element }) => element === target)) {
      for (const { element } of entries) {
        element.tabIndex = element === target ? 0 : -1;
      }
    }
  });
  const head = el(
    "tr",
    {},
    el("th", { scope: "col", class: "number" }, "time"),
    el("th", { scope: "col" }, "share"),
    compares && el("th", { scope: "col", class: "number", title: `against ${kernel.before?.name ?? ""}` }, "change"),
    el("th", { scope: "col", class: "number" }, "line"),
    el("th", { scope: "col" }, "what"),
    ...kernel.columns.map((column, index) => el("th", { scope: "col", class: columnClass(column, index) }, column[0])),
  );
  const table = el(
    "table",
    { role: "treegrid", "aria-label": "Cost of each line", class: "lines" },
    el("thead", {}, head),
    body,
  );
  const element = el("section", { class: "card wide" }, el("div", { class: "card-head" }, el("h3", {}, "Each line")), table);
  const follow = (number: number): void => {
    for (const { row, element: target } of entries) {
      target.classList.toggle("current", row.line === number);
    }
  };
  return { element, follow };
}

/** A key for each row that does not change with its figures or its line. */
function keysOf(rows: readonly Row[]): string[] {
  const counts = new Map<string, number>();
  return rows.map(({ depth, what }) => {
    const name = `${depth} ${what}`;
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return `${name} ${count}`;
  });
}

/** On a narrow page every other number gives way first, and words stay. */
function columnClass([, kind]: Column, index: number): string {
  return kind === "text" ? "optional-0" : `number optional-${index % 2 === 0 ? 2 : 1}`;
}

function line(
  host: Host,
  row: Row,
  columns: readonly Column[],
  hasChildren: boolean,
  compares: boolean,
): HTMLTableRowElement {
  const what = el(
    "td",
    { class: "what" },
    hasChildren
      ? el("span", { class: "twisty", "aria-hidden": "true" }, "▾")
      : el("span", { class: "twisty none", "aria-hidden": "true" }),
    el("code", { title: row.what }, row.what),
  );
  what.style.setProperty("--depth", String(row.depth));
  const share = el("td", { class: "share" }, bar(row.bar), el("span", { class: "share-text" }, row.share));
  const isOverlapped = row.time.endsWith("overlapped");
  const found = el(
    "tr",
    {
      "aria-level": row.depth + 1,
      ...(hasChildren ? { "aria-expanded": "true" } : {}),
      class: [row.line === null ? "" : "clickable", isOverlapped ? "overlapped" : ""].join(" ").trim(),
    },
    el("td", { class: "number" }, row.time),
    share,
    compares && el("td", { class: `number ${trend(row.change)}` }, row.change ?? ""),
    el("td", { class: "number quiet" }, row.place),
    what,
    ...columns.map((column, index) => el("td", { class: columnClass(column, index) }, row.cells[index] ?? "")),
  );
  const { line: number } = row;
  if (number !== null) {
    found.addEventListener("click", () => {
      host.reveal(number);
    });
  }
  return found;
}

function trend(change: string | undefined): string {
  return change?.startsWith("+") ? "bad" : change?.startsWith("-") ? "good" : "quiet";
}

function toggle(entries: readonly Entry[], entry: Entry, open: boolean): void {
  entry.open = open;
  entry.element.setAttribute("aria-expanded", String(open));
  const twisty = entry.element.querySelector(".twisty");
  if (twisty) {
    twisty.textContent = open ? "▾" : "▸";
  }
  for (const other of entries) {
    other.element.hidden = isFolded(other);
  }
}

function isFolded(entry: Entry): boolean {
  for (let above = entry.parent; above; above = above.parent) {
    if (!above.open) {
      return true;
    }
  }
  return false;
}

function steer(host: Host, entries: readonly Entry[], folded: Folded, event: KeyboardEvent): void {
  const visible = entries.filter(({ element }) => !element.hidden);
  const index = visible.findIndex(({ element }) => element === event.target);
  const entry = visible[index];
  if (!entry) {
    return;
  }
  let target: Entry | undefined;
  if (event.key === "ArrowDown") {
    target = visible[index + 1];
  } else if (event.key === "ArrowUp") {
    target = visible[index - 1];
  } else if (event.key === "Home") {
    target = visible[0];
  } else if (event.key === "End") {
    target = visible.at(-1);
  } else if (event.key === "ArrowRight" && entry.hasChildren) {
    if (entry.open) {
      target = visible[index + 1];
    } else {
      toggle(entries, entry, true);
      folded.set(entry.key, false);
    }
  } else if (event.key === "ArrowLeft") {
    if (entry.hasChildren && entry.open) {
      toggle(entries, entry, false);
      folded.set(entry.key, true);
    } else {
      target = entry.parent;
    }
  } else if (event.key === "Enter" && entry.row.line !== null) {
    host.reveal(entry.row.line);
  } else {
    return;
  }
  event.preventDefault();
  target?.element.focus();
}

/** The page of a measured step: renders the data that the document has. */

import { el } from "../dom";
import { drawPlaced } from "../figure";
import { findHost } from "../host";
import { Lines } from "../lines";
import { roofline } from "../roofline";
import { fileName } from "../text";
import { SCHEMA_VERSION, type MeasuredPage, type Timeline } from "./schema";
import { changes } from "./changes";
import { swatch } from "./colours";
import { stacks } from "./stacks";
import { table } from "./table";
import { timeline, type TimelineFigure } from "./timeline/figure";

const host = findHost();
const root = document.getElementById("report") ?? document.body;
const announcement = el("p", { class: "announcement", role: "status" });

function announce(text: string): void {
  announcement.textContent = text;
}

function render(page: MeasuredPage): void {
  if (page.schema_version !== SCHEMA_VERSION) {
    root.replaceChildren(el("main", {}, el("p", { class: "empty" }, "This page is of another version of TIRLens.")));
    return;
  }
  document.title = `TIRLens: ${page.title}`;
  const file = (part: string): string => fileName("tirlens", page.title, part);
  const lanes = page.timeline && timeline(host, page.timeline, file("timeline"), announce);
  const chart = page.roofline?.chart;
  root.replaceChildren(
    el(
      "main",
      {},
      el(
        "header",
        {},
        el("div", { class: "title" }, el("h1", {}, page.title), el("p", { class: "origin" }, page.origin)),
      ),
      page.notes.length > 0 && notes(page.notes),
      tiles(page),
      page.stacks.length > 0 && stacks(host, page.stacks, file("time")).element,
      page.changes && changes(host, page.changes, file("changes")).element,
      lanes?.element,
      el(
        "div",
        { class: "pair" },
        page.categories.length > 0 && categories(page),
        page.timeline && lanes && gaps(page.timeline, lanes),
      ),
      chart && page.roofline && roofline(host, chart, `Roofline of ${page.roofline.device}`, file("roofline"), new Lines([])).element,
      ...page.tables.map((one) =>
        table(one, { announce, ...(lanes && one.marks ? { mark: (kernel: number | undefined) => { lanes.mark(kernel); } } : {}) }),
      ),
      el("p", { class: "quiet footer" }, `Written by ${page.generator}.`),
    ),
    announcement,
  ); // prettier-ignore
  drawPlaced();
}

function tiles(page: MeasuredPage): HTMLElement {
  return el(
    "dl",
    { class: "tiles", "aria-label": "Summary" },
    ...page.tiles.map(([name, value, note], index) =>
      el(
        "div",
        { class: index === 0 ? "tile first" : "tile" },
        el("dt", {}, name),
        el("dd", {}, value, note !== "" && el("span", { class: "tile-note" }, note)),
      ),
    ),
  );
}

function notes(texts: readonly string[]): HTMLElement {
  return el("ul", { class: "notes" }, ...texts.map((text) => el("li", {}, text)));
}

/** The figures of the first picture as a table. */
function categories(page: MeasuredPage): HTMLElement {
  const rows = page.categories.map(({ category, executions, time, share, alone }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: "name" }, el("div", {}, swatch(category), category)),
      el("td", { class: "number optional-0" }, executions),
      el("td", { class: "number" }, time),
      el("td", { class: "number" }, share),
      el("td", { class: "number" }, alone),
    ),
  );
  const head = ["category", "executions", "sum", "part", "alone"].map((name, index) =>
    el("th", { scope: "col", class: ["", "number optional-0"][index] ?? "number" }, name),
  );
  return el(
    "section",
    { class: "card" },
    el("div", { class: "card-head" }, el("h2", { class: "small-title" }, "Categories")),
    el("p", { class: "note" }, "part: of the wall time, of which operations at the same time have equal parts. alone: nothing of another category ran."),
    el("table", { class: "measured" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
  ); // prettier-ignore
}

/** The longest gaps, each a way to its place in the timeline. */
function gaps(data: Timeline, lanes: TimelineFigure): HTMLElement | null {
  const several = data.devices.length > 1;
  const found = data.devices.flatMap(({ name, gaps: own }) => own.map((gap) => ({ name, gap })));
  found.sort((one, other) => other.gap[1] - one.gap[1]);
  if (found.length === 0) {
    return null;
  }
  const rows = found.slice(0, 10).map(({ name, gap: [start, length, text, before, after, cause] }) =>
    el(
      "li",
      {},
      el(
        "button",
        { class: "link", click: () => { lanes.show(start - 1.5 * length, start + 2.5 * length); } },
        text,
      ),
      el("span", { class: "between" }, several && `${name}: `, "after ", el("code", {}, before), ", before ", el("code", {}, after), cause !== "" && el("span", { class: "quiet" }, ` (${cause})`)),
    ),
  ); // prettier-ignore
  return el(
    "section",
    { class: "card" },
    el("div", { class: "card-head" }, el("h2", { class: "small-title" }, "Longest gaps")),
    el("ol", { class: "gaps" }, ...rows),
  );
}

const embedded = document.getElementById("data")?.textContent;
if (embedded) {
  render(JSON.parse(embedded) as MeasuredPage);
}

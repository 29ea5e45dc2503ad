/** The report page: renders its data, and what the extension sends of later analyses. */

import { el } from "./dom";
import { drawPlaced } from "./figure";
import { findHost } from "./host";
import { kernelPart, lineLink, type KernelPart } from "./kernel";
import { kernelTable, placesOf, type Place } from "./kernels";
import { Lines } from "./lines";
import { roofline } from "./roofline";
import type { ToPage } from "./messages";
import type { Folded } from "./rows";
import { SCHEMA_VERSION, type File, type Page } from "./schema";
import { listing } from "./source";
import { fileName } from "./text";
import { tooltip } from "./tooltip";
import { reopen, restore, viewOf, type View } from "./view";

/** How long a click may take; of a press on a scroll bar the end is not told. */
const LONGEST_PRESS_MS = 1000;

const host = findHost();
const root = document.getElementById("report") ?? document.body;
const announcement = el("p", { class: "announcement", role: "status" });
let shown: KernelPart | undefined;
/** The kernels that are not shown: only paper has them all. */
let others: Place[] = [];
/** The data that is displayed, as text. */
let displayed = "";
/** What is to be drawn when the pointer is released. */
let postponed: (() => void) | undefined;
let isPressed = false;
let cursor = 0;
/** The page on display, by the paths of its files; empty for a message. */
let path = "";
/** The views of the pages that have been on display. */
const views = new Map<string, View>();

/** Displays `data`; the elements of a page that has not changed stay. */
function update(data: Page): void {
  const text = JSON.stringify(data);
  if (text !== displayed) {
    displayed = text;
    draw(() => {
      render(data);
    });
  }
}

/** Draws at once, or after the click under way: its target must not be replaced before it ends. */
function draw(action: () => void): void {
  postponed = action;
  if (isPressed) {
    setTimeout(release, LONGEST_PRESS_MS);
  } else {
    release();
  }
}

function release(): void {
  isPressed = false;
  const action = postponed;
  postponed = undefined;
  action?.();
}

function render(page: Page): void {
  tooltip.hide();
  rememberView();
  if (page.schema_version !== SCHEMA_VERSION) {
    renderMessage("This report is of another version of TIRLens: update the server or the extension.");
    return;
  }
  document.title = `TIRLens: ${page.title}`;
  const places = placesOf(page.files);
  const chosen = places.find((place) => key(place) === host.state.kernel) ?? places[0];
  const choose = (place: Place): void => {
    host.state = { ...host.state, kernel: key(place) };
    render(page);
    if ("detailed" in place.kernel && !place.kernel.detailed) {
      host.send({ type: "kernel", index: place.index });
    }
    document.getElementById("kernel-title")?.scrollIntoView({ block: "nearest" });
  };
  others = places.filter((place) => place !== chosen);
  shown = chosen && kernelPart(host, chosen.kernel, new Lines(chosen.file.cells), foldedOf(key(chosen)));
  const file = chosen?.file ?? page.files[0];
  const lines = new Lines(page.files.length === 1 ? file?.cells : []);
  const rooflines = page.rooflines.map(({ device, chart }) =>
    roofline(host, chart, `Roofline of ${device}`, fileName("tirlens", page.title, device), lines).element,
  );
  root.replaceChildren(
    el(
      "main",
      {},
      header(page, file),
      page.files.length > 1 && fileList(page.files),
      ...page.files.flatMap((one) => problems(one, page.files.length > 1)),
      places.length > 1 && kernelTable(places, page.files.length, chosen, choose),
      rooflines.length > 0 && el("details", { class: "overview" }, el("summary", {}, "All kernels in one roofline"), ...rooflines),
      shown?.element,
      file && listing(file, !host.isEditor && places.length === 1),
      el("p", { class: "quiet footer" }, `Written by ${page.generator}. Figures are estimates of a model, not measurements.`),
    ),
    announcement,
  ); // prettier-ignore
  path = page.files.map((one) => one.path).join("\n");
  const view = views.get(path);
  if (view) {
    reopen(root, view);
  }
  drawPlaced();
  shown?.follow(cursor);
  if (view) {
    restore(root, view);
  } else {
    window.scrollTo(0, 0);
  }
}

function rememberView(): void {
  if (path !== "") {
    views.set(path, viewOf(root));
  }
}

/** The folded rows of a kernel, which a page that is loaded again knows, too. */
function foldedOf(kernel: string): Folded {
  const keys = new Set(host.state.folded?.[kernel]);
  return {
    has: (key) => keys.has(key),
    set: (key, folded) => {
      if (folded) {
        keys.add(key);
      } else {
        keys.delete(key);
      }
      host.state = { ...host.state, folded: { ...host.state.folded, [kernel]: [...keys] } };
    },
  };
}

function key({ file, kernel, index }: Place): string {
  const same = file.kernels.filter(({ name }) => name === kernel.name).indexOf(kernel);
  return `${file.path}\n${kernel.name}\n${same < 0 ? index : same}`;
}

function header(page: Page, file: File | undefined): HTMLElement {
  return el(
    "header",
    {},
    el(
      "div",
      { class: "title" },
      el("h1", {}, page.title),
      file && el("p", { class: file.stale ? "origin stale" : "origin" }, file.stale ? `${file.origin}; changed since` : file.origin),
    ),
    host.isEditor &&
      el(
        "div",
        { class: "choices" },
        picker("Device", page.devices, page.device, (id) => { host.send({ type: "device", id }); }),
        picker("Compare with", page.comparisons, page.comparison, (id) => { host.send({ type: "compare", id }); }),
        el("button", { class: "small", title: "Save this report as a page", click: () => { host.send({ type: "page" }); } }, "HTML"),
      ),
  ); // prettier-ignore
}

function picker(
  label: string,
  items: readonly [string, string][],
  current: string,
  choose: (id: string) => void,
): HTMLElement | false {
  if (items.length === 0) {
    return false;
  }
  const select = el(
    "select",
    {
      change: () => {
        announcement.textContent = `${label} ${select.value}: the figures are computed again`;
        choose(select.value);
      },
    },
    ...items.map(([id, text]) => el("option", { value: id, selected: id === current }, text)),
  );
  return el("label", { class: "picker" }, el("span", {}, label), select);
}

function problems(file: File, named: boolean): HTMLElement[] {
  const lines = new Lines(file.cells);
  return file.problems.map(([line, message]) =>
    el("p", { class: "failed" }, named && `${file.name}, `, lineLink(host, line, lines.long(line)), `: ${message}`),
  );
}

/** All files of a page, also those without kernels. */
function fileList(files: readonly File[]): HTMLElement {
  const counted = (file: File): string => `${file.path} (${file.kernels.length})`;
  return el(
    "details",
    { class: "overview" },
    el("summary", {}, `${files.length} files, with their kernels`),
    el("p", { class: "quiet" }, files.map(counted).join(", ")),
  );
}

/** Paper has no table to choose from: it has all kernels of a saved page, one after the other. */
function printAll(): void {
  const parts = others.map(({ file, kernel }) => kernelPart(host, kernel, new Lines(file.cells), foldedOf(kernel.name)).element);
  const all = el("div", { class: "printed" }, ...parts);
  shown?.element.after(all);
  window.addEventListener("afterprint", () => { all.remove(); }, { once: true }); // prettier-ignore
}

function renderMessage(text: string): void {
  rememberView();
  path = "";
  shown = undefined;
  root.replaceChildren(el("main", {}, el("p", { class: "empty" }, text)));
}

const embedded = document.getElementById("data")?.textContent;
if (embedded) {
  update(JSON.parse(embedded) as Page);
}
window.addEventListener("pointerdown", () => {
  isPressed = true;
  host.send({ type: "pressed" });
});
for (const end of ["pointerup", "pointercancel", "blur"]) {
  // The click follows in the same task.
  window.addEventListener(end, () => setTimeout(release));
}
window.addEventListener("beforeprint", printAll);
window.addEventListener("message", (event: MessageEvent<ToPage>) => {
  const message = event.data;
  if (message.type === "data") {
    update(message.data);
  } else if (message.type === "empty") {
    displayed = "";
    draw(() => {
      renderMessage(message.message);
    });
  } else {
    cursor = message.line;
    shown?.follow(cursor);
  }
});
host.send({ type: "ready" });

/** Everything about one kernel. */

import { bar, el } from "./dom";
import type { Host } from "./host";
import { layouts } from "./layouts";
import type { Lines } from "./lines";
import { roofline } from "./roofline";
import { tree, type Folded } from "./rows";
import type { Advice, AnalysedKernel, Before, Kernel } from "./schema";
import { fileName } from "./text";
import { timeline } from "./timeline";
import { waterfall } from "./waterfall";

export interface KernelPart {
  element: HTMLElement;
  follow: (line: number) => void;
}

export function kernelPart(host: Host, kernel: Kernel, names: Lines, folded: Folded): KernelPart {
  const title = el("h2", { id: "kernel-title" }, kernel.name, " ", lineLink(host, kernel.line, names.long(kernel.line)));
  if ("failed" in kernel) {
    const failed = el("p", { class: "failed" }, `not analysed: ${kernel.failed}`);
    return { element: el("section", { "aria-labelledby": "kernel-title" }, title, failed), follow: () => undefined };
  }
  const name = (chart: string): string => fileName("tirlens", kernel.name, chart);
  const lines = tree(host, kernel, folded);
  const element = el(
    "section",
    { "aria-labelledby": "kernel-title", class: "kernel" },
    title,
    el("p", { class: "verdict" }, kernel.verdict),
    kernel.reason !== "" && el("p", { class: "reason" }, kernel.reason),
    tiles(kernel),
    kernel.before && comparison(kernel, kernel.before),
    kernel.advice.length > 0 && advice(host, kernel.advice, names),
    el(
      "div",
      { class: "pair" },
      kernel.waterfall && waterfall(host, kernel.waterfall, name("time"), names).element,
      kernel.roofline && roofline(host, kernel.roofline, "Roofline", name("roofline"), names).element,
    ),
    kernel.rows.length > 0 && lines.element,
    kernel.timeline && timeline(host, kernel.timeline, name("timeline"), names).element,
    kernel.layouts && kernel.layouts.length > 0 && layouts(host, kernel.layouts, name("banks"), names).element,
    el("div", { class: "pair" }, kernel.units.length > 0 && units(kernel), facts(kernel)),
    kernel.notes.length > 0 && notes(kernel.notes),
  );
  return { element, follow: lines.follow };
}

/** A link to a line of the source. */
export function lineLink(host: Host, line: number | null, text: string): Node {
  if (line === null) {
    return document.createTextNode(text);
  }
  const click = (event: Event): void => {
    event.preventDefault();
    host.reveal(line);
  };
  return el("a", { href: `#line-${line}`, "data-line": line, class: "place", click }, text);
}

function tiles(kernel: AnalysedKernel): HTMLElement {
  const cells = kernel.tiles.map(([name, value, note], index) =>
    el(
      "div",
      { class: index === 0 ? "tile first" : "tile" },
      el("dt", {}, name),
      el("dd", {}, value, note !== "" && el("span", { class: "tile-note" }, note)),
    ),
  );
  return el("dl", { class: "tiles" }, ...cells);
}

function comparison(kernel: AnalysedKernel, before: Before): HTMLElement {
  const [now = 0, then = 0] = before.bars ?? [];
  const row = (name: string, share: number, text: string, kind: string): HTMLElement =>
    el("div", { class: "bar-row" }, el("span", { class: "bar-name" }, name), el("span", { class: "track" }, bar(share, `bar ${kind}`)), el("span", { class: "bar-value" }, text)); // prettier-ignore
  const table = el(
    "table",
    { class: "compare" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "figure"), el("th", { scope: "col", class: "number" }, "now"), el("th", { scope: "col", class: "number" }, before.name))),
    el("tbody", {}, ...before.cells.map(([name, one, other]) => el("tr", { class: one === other ? "" : "differs" }, el("th", { scope: "row" }, name), el("td", { class: "number" }, one), el("td", { class: "number" }, other)))),
  ); // prettier-ignore
  return el(
    "section",
    { class: "card comparison" },
    el(
      "div",
      { class: "card-head" },
      el("h3", {}, `Compared with ${before.name}`),
      before.change !== undefined && el("span", { class: `change ${before.trend ?? "same"}` }, changeText(before)),
    ),
    before.bars && row("now", now, kernel.time, "now"),
    before.bars && row(before.name, then, before.time, "then"),
    el("details", {}, el("summary", {}, "All figures"), table),
  );
}

function changeText(before: Before): string {
  return before.trend === "same" ? "the same time" : `${before.change ?? ""} time: ${before.trend ?? ""}`;
}

function advice(host: Host, items: readonly Advice[], names: Lines): HTMLElement {
  const rows = items.map((item) => {
    const { edit, line } = item;
    const canApply = edit !== null && line !== null && host.isEditor;
    return el(
      "li",
      {},
      el(
        "div",
        { class: "saving" },
        el("span", { class: "saving-time" }, item.saving === "" ? "" : `saves ${item.saving}`),
        item.share !== "" && el("span", { class: "track" }, bar(item.bar, "bar saved")),
        el("span", { class: "quiet" }, item.share),
      ),
      el(
        "div",
        { class: "advice-text" },
        el("p", {}, item.message),
        edit && !canApply && !item.message.includes(edit.text) && el("code", { class: "edit" }, edit.text),
        el("p", { class: "quiet" }, lineLink(host, line, line === null ? item.place : names.long(line)), `  ${item.rule}`),
      ),
      canApply &&
        el(
          "button",
          {
            class: "apply",
            title: edit.title,
            "aria-label": `Apply: ${edit.title}`,
            click: () => {
              host.send({ type: "apply", rule: item.rule, line });
            },
          },
          "Apply",
        ),
    );
  });
  return el(
    "section",
    { class: "card advice" },
    el("div", { class: "card-head" }, el("h3", {}, "Advice")),
    el("ul", {}, ...rows),
  );
}

function units(kernel: AnalysedKernel): HTMLElement {
  const rows = kernel.units.map(([name, share, text]) =>
    el(
      "div",
      { class: "bar-row" },
      el("span", { class: "bar-name" }, name),
      el("span", { class: "track" }, bar(share, "bar busy")),
      el("span", { class: "bar-value" }, text),
    ),
  );
  return el(
    "section",
    { class: "card units" },
    el("div", { class: "card-head" }, el("h3", {}, "Busy units")),
    el("p", { class: "note" }, "Share of the kernel's time in which each unit of the device works; of peak: its rate beside the data sheet's"),
    ...rows,
  );
}

function facts(kernel: AnalysedKernel): HTMLElement {
  const pairs = kernel.facts.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]);
  return el(
    "section",
    { class: "card" },
    el("div", { class: "card-head" }, el("h3", {}, "Launch and memory")),
    el("dl", { class: "facts" }, ...pairs),
  );
}

function notes(texts: readonly string[]): HTMLElement {
  return el(
    "section",
    { class: "card" },
    el("div", { class: "card-head" }, el("h3", {}, "Assumptions and limits")),
    el("ul", { class: "notes" }, ...texts.map((text) => el("li", {}, text))),
  );
}

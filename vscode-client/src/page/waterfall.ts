/** Where the time goes: the parts of a kernel's time, one after the other. */

import { scaleLinear } from "d3-scale";
import { svg } from "./dom";
import { figure, type Figure } from "./figure";
import type { Host } from "./host";
import type { Lines } from "./lines";
import type { Waterfall } from "./schema";
import { cut } from "./text";
import { connect, type Mark } from "./tooltip";

const ROW = 22;
const BAR = 14;
const TOP = 20;
const CHARACTER = 6.3;
/** Right of this the name of a limit is left of its line. */
const LEFT_OF_LINE = 0.75;
/** Room for the time behind a bar. */
const TIME = 96;

export function waterfall(host: Host, data: Waterfall, file: string, names: Lines): Figure {
  const parts = data.bars.map((bar) => `${bar.label} ${bar.time}, ${bar.share}`).join("; ");
  const options = { title: "Where the time goes", summary: `${[`${data.total} in all`, ...data.limits.map(([, text]) => text)].join(", ")}: ${parts}`, file };
  return figure(host, options, (target, width) => draw(host, target, width, data, names));
}

function draw(host: Host, target: SVGSVGElement, width: number, data: Waterfall, names: Lines): number {
  const left = Math.round(Math.min(Math.max(width * 0.36, 110), 280));
  const x = scaleLinear([0, 1], [left, width - 8]);
  const bottom = TOP + data.bars.length * ROW;
  for (const [at, text] of data.ticks) {
    target.append(
      svg("line", { x1: x(at), x2: x(at), y1: TOP, y2: bottom, class: "grid" }),
      svg("text", { x: x(at), y: bottom + 14, class: "tick", "text-anchor": anchor(at) }, text),
    );
  }
  for (const [at] of data.limits) {
    target.append(svg("line", { x1: x(at), x2: x(at), y1: TOP - 4, y2: bottom, class: "limit" }));
  }
  for (const { at, text, anchor } of limitNames(data.limits, x)) {
    target.append(svg("text", { x: at, y: TOP - 8, class: "limit-name", "text-anchor": anchor }, text));
  }
  const marks: Mark[] = [];
  data.bars.forEach((bar, index) => {
    const y = TOP + index * ROW;
    const start = x(bar.start);
    const end = x(bar.start + bar.length);
    const text = `${bar.time}  ${bar.share}`;
    const after = end + TIME < width || start - TIME < left;
    const room = after && end + text.length * CHARACTER > width;
    const row = svg(
      "g",
      {},
      svg("rect", { x: 0, y, width, height: ROW, class: "hit row" }),
      svg("rect", { x: start, y: y + (ROW - BAR) / 2, width: Math.max(end - start, 1.5), height: BAR, class: `part ${bar.kind}` }),
    ); // prettier-ignore
    // What is written is in the label of the row, too.
    const texts = svg(
      "g",
      { "aria-hidden": "true", class: "texts" },
      svg("text", { x: left - 8, y: y + 15, class: "label", "text-anchor": "end" }, cut(name(bar, names), Math.floor((left - 12) / CHARACTER))),
      svg("text", { x: room ? start + 6 : after ? end + 6 : start - 6, y: y + 15, class: room ? "value within" : "value", "text-anchor": after ? "start" : "end" }, text),
    ); // prettier-ignore
    const { line } = bar;
    marks.push({
      element: row,
      lines: [bar.label, `${bar.time}, ${bar.share} of the time`, ...(bar.bound ? [`limited by ${bar.bound}`] : [])],
      ...(line === null ? {} : { activate: () => { host.reveal(line); } }),
    }); // prettier-ignore
    target.append(row, texts);
    if (index + 1 < data.bars.length) {
      target.append(svg("line", { x1: end, x2: end, y1: y + (ROW + BAR) / 2, y2: y + ROW + (ROW - BAR) / 2, class: "step" }));
    }
  });
  connect(marks);
  return bottom + 22;
}

/** The names of the limits, from left to right: one on each side of two lines, or both at the last. */
function limitNames(limits: Waterfall["limits"], x: (at: number) => number): { at: number; text: string; anchor: string }[] {
  const [first, second] = [...limits].sort(([one], [other]) => one - other);
  if (first === undefined) {
    return [];
  }
  if (second === undefined || second[0] > LEFT_OF_LINE) {
    const text = limits.length > 1 ? `${first[1]}, ${second?.[1]}` : first[1];
    const at = second?.[0] ?? first[0];
    return [{ at: x(at), text, anchor: at > LEFT_OF_LINE ? "end" : "start" }];
  }
  return [
    { at: x(first[0]), text: first[1], anchor: "end" },
    { at: x(second[0]), text: second[1], anchor: "start" },
  ];
}

function name(bar: Waterfall["bars"][number], names: Lines): string {
  return bar.line === null || bar.kind !== "work" ? bar.label : `${names.short(bar.line)}  ${bar.label}`;
}

function anchor(at: number): string {
  return at < 0.02 ? "start" : at > 0.96 ? "end" : "middle";
}

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
/** Room for the time behind a bar. */
const TIME = 96;

export function waterfall(host: Host, data: Waterfall, file: string, names: Lines): Figure {
  const parts = data.bars.map((bar) => `${bar.label} ${bar.time}, ${bar.share}`).join("; ");
  const options = { title: "Where the time goes", summary: `${data.total} in all: ${parts}`, file };
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
  if (data.roofline) {
    const [at, text] = data.roofline;
    target.append(
      svg("line", { x1: x(at), x2: x(at), y1: TOP - 4, y2: bottom, class: "limit" }),
      svg("text", { x: x(at), y: TOP - 8, class: "limit-name", "text-anchor": at > 0.75 ? "end" : "start" }, text),
    );
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

function name(bar: Waterfall["bars"][number], names: Lines): string {
  return bar.line === null || bar.kind !== "work" ? bar.label : `${names.short(bar.line)}  ${bar.label}`;
}

function anchor(at: number): string {
  return at < 0.02 ? "start" : at > 0.96 ? "end" : "middle";
}

/** What operations add to a run, or save: bars to the right and to the left of a line. */

import { svg } from "../dom";
import { figure, type Figure } from "../figure";
import type { Host } from "../host";
import { cut } from "../text";
import { connect, type Mark } from "../tooltip";
import type { Changes } from "./schema";

const ROW = 22;
const BAR = 14;
const TOP = 20;
const CHARACTER = 6.4;
/** Room for the time beside a bar. */
const TEXT = 66;

export function changes(host: Host, data: Changes, file: string): Figure {
  const summary = data.bars.map(({ name, text }) => `${name} ${text}`).join("; ");
  const note = data.left_out > 0 ? `${data.left_out.toLocaleString("en")} smaller changes are in the table.` : undefined;
  return figure(
    host,
    { title: `What changed: ${data.total}`, summary, file, ...(note === undefined ? {} : { note }) },
    (target, width) => draw(target, width, data),
  );
}

function draw(target: SVGSVGElement, width: number, data: Changes): number {
  const names = Math.round(Math.min(Math.max(width * 0.34, 90), 320));
  const middle = names + (width - names) / 2;
  const half = (width - names) / 2 - TEXT;
  const bottom = TOP + data.bars.length * ROW;
  target.append(
    svg("text", { x: middle - 8, y: 11, class: "tick", "text-anchor": "end" }, "faster"),
    svg("text", { x: middle + 8, y: 11, class: "tick" }, "slower"),
    svg("line", { x1: middle, x2: middle, y1: 0, y2: bottom, class: "step" }),
  );
  const marks: Mark[] = data.bars.map((bar, index) => {
    const y = TOP + index * ROW;
    const length = Math.max(Math.abs(bar.length) * Math.max(half, 10), 1.5);
    const isSlower = bar.length > 0;
    const start = isSlower ? middle : middle - length;
    const element = svg(
      "g",
      {},
      svg("rect", { x: 0, y, width, height: ROW, class: "hit row" }),
      svg("rect", { x: start, y: y + (ROW - BAR) / 2, width: length, height: BAR, class: `segment cat-${bar.category}` }),
    );
    const texts = svg(
      "g",
      { "aria-hidden": "true", class: "texts" },
      svg("text", { x: names - 8, y: y + 15, class: "label", "text-anchor": "end" }, cut(bar.short, Math.floor((names - 10) / CHARACTER))),
      svg("text", { x: isSlower ? middle + length + 6 : middle - length - 6, y: y + 15, class: isSlower ? "value bad" : "value good", "text-anchor": isSlower ? "start" : "end" }, bar.text),
    );
    target.append(element, texts);
    return { element, lines: [bar.name, bar.text, bar.note] };
  }); // prettier-ignore
  connect(marks);
  return bottom + 4;
}

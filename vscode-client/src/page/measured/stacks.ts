/** Stacked bars: what the time consists of, by category, by kernel, by memory. */

import { el, svg } from "../dom";
import { figure, type Figure } from "../figure";
import type { Host } from "../host";
import { cut } from "../text";
import { connect, type Mark } from "../tooltip";
import { hatching, swatch } from "./colours";
import type { Stack } from "./schema";

const BAR = 30;
const ROW = 58;
const TITLE = 16;
const CHARACTER = 6.4;

export function stacks(host: Host, data: readonly Stack[], file: string): Figure {
  const summary = data
    .map(({ name, total, parts }) => `${name}, ${total}: ${parts.map((part) => `${part.name} ${part.share}`).join(", ")}`)
    .join("; "); // prettier-ignore
  const used = [...new Set(data.flatMap(({ parts }) => parts.map(({ category }) => category)))];
  const legend = el("ul", { class: "legend" }, ...used.map((name) => el("li", {}, swatch(name), name === "rest" ? "other kernels" : name)));
  return figure(host, { title: "Where the time goes", summary, file, legend }, (target, width) =>
    draw(target, width, data),
  );
}

function draw(target: SVGSVGElement, width: number, data: readonly Stack[]): number {
  target.append(hatching());
  const marks: Mark[] = [];
  data.forEach((stack, index) => {
    const top = index * ROW;
    target.append(
      svg("text", { x: 0, y: top + 11, class: "label strong" }, stack.name),
      svg("text", { x: width, y: top + 11, class: "tick", "text-anchor": "end" }, stack.total),
    );
    let at = 0;
    for (const part of stack.parts) {
      const length = part.length * width * stack.width;
      const y = top + TITLE;
      const group = svg(
        "g",
        part.category === "idle" ? { class: "idle-part" } : {},
        svg("rect", { x: at, y, width: Math.max(length - 1, 0.5), height: BAR, class: `segment cat-${part.category}` }),
      );
      const room = Math.floor((length - 8) / CHARACTER);
      const text = cut(part.short, room);
      if (room >= 4) {
        const whole = `${part.share}  ${part.time}`;
        const figures = room >= whole.length ? whole : room >= part.share.length ? part.share : "";
        group.append(
          svg("text", { x: at + 5, y: y + 13, class: "inside", "aria-hidden": "true" }, text),
          svg("text", { x: at + 5, y: y + 25, class: "inside share-text", "aria-hidden": "true" }, figures),
        );
      }
      const lines = [part.name, `${part.time}, ${part.share}`, ...(part.note ? [part.note] : [])];
      marks.push({ element: group, lines });
      target.append(group);
      at += length;
    }
  });
  connect(marks);
  return data.length * ROW - (ROW - TITLE - BAR) + 4;
}

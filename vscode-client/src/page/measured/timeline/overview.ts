/** All of a step at a glance: what each category has of the time, and the part that is in view. */

import { svg } from "../../dom";
import type { Timeline } from "../schema";
import { OVERVIEW, round } from "./geometry";

export class Overview {
  private readonly brush = svg("rect", { y: 0.75, height: OVERVIEW - 1.5, class: "brush" });

  /** Draws it from `left` to `width`; `go` is given the nanosecond that is pressed or dragged to. */
  constructor(
    target: SVGSVGElement,
    data: Timeline,
    private readonly left: number,
    private readonly width: number,
    go: (at: number) => void,
  ) {
    const area = svg("rect", { x: left, y: 0, width: width - left, height: OVERVIEW, class: "hit overview-area" });
    target.append(
      svg("rect", { x: left, y: 0, width: width - left, height: OVERVIEW, class: "segment cat-idle" }),
      ...categoryPaths(data, left, width),
    );
    if (left > 0) {
      target.append(svg("text", { x: left - 8, y: OVERVIEW / 2 + 4, class: "label", "text-anchor": "end" }, "whole step"));
    }
    target.append(this.brush, area);
    const goTo = (event: PointerEvent): void => {
      const box = area.getBoundingClientRect();
      go(((event.clientX - box.left) / box.width) * data.length);
    };
    area.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      area.setPointerCapture(event.pointerId);
      goTo(event);
    });
    // The figure would move by these.
    area.addEventListener("mousedown", (event) => { event.stopPropagation(); });
    area.addEventListener("touchstart", (event) => { event.stopPropagation(); }, { passive: true });
    area.addEventListener("pointermove", (event) => {
      if (area.hasPointerCapture(event.pointerId)) {
        goTo(event);
      }
    });
  } // prettier-ignore

  /** Marks the part from one pixel to another as in view; all of it needs no mark. */
  mark(begin: number, end: number): void {
    this.brush.setAttribute("x", String(begin));
    this.brush.setAttribute("width", String(Math.max(end - begin, 2)));
    const isAll = end - begin > this.width - this.left - 1;
    this.brush.setAttribute("visibility", isAll ? "hidden" : "visible");
  }
}

/** The categories on top of one another, each a path. */
function categoryPaths({ overview, categories }: Timeline, left: number, right: number): SVGElement[] {
  const bins = overview[0]?.length ?? 0;
  const width = (right - left) / Math.max(bins, 1);
  const base = new Float64Array(bins);
  return overview.flatMap((parts, index) => {
    let path = "";
    parts.forEach((part, bin) => {
      if (part > 0) {
        const below = base[bin] ?? 0;
        path += `M${round(left + bin * width)} ${round(OVERVIEW * (1 - below - part))}h${round(width)}v${round(OVERVIEW * part)}h${round(-width)}z`;
        base[bin] = below + part;
      }
    });
    return path === "" ? [] : [svg("path", { d: path, class: `density cat-${categories[index] ?? "other"}` })];
  });
}

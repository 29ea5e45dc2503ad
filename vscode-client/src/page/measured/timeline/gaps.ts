/** The gaps of a step, in which a device is idle: their marks, and the way from one to the next longest. */

import { svg } from "../../dom";
import { tooltip } from "../../tooltip";
import type { Gap, Timeline } from "../schema";
import { CHARACTER, GAPS, interval, type Plot } from "./geometry";

interface GapOfDevice {
  gap: Gap;
  name: string;
}

export class Gaps {
  /** Of each device in the order of time. */
  private readonly inOrder: readonly Gap[][];
  private readonly longestFirst: readonly GapOfDevice[];
  private current = -1;

  constructor({ devices }: Timeline) {
    this.inOrder = devices.map(({ gaps }) => [...gaps].sort((one, other) => one[0] - other[0]));
    this.longestFirst = devices
      .flatMap(({ gaps, name }) => gaps.map((gap) => ({ gap, name })))
      .sort((one, other) => other.gap[1] - one.gap[1]);
  }

  /** The next longest gap, with what is to be said of it; after the last the longest again. */
  next(): { start: number; length: number; text: string } | undefined {
    this.current = (this.current + 1) % Math.max(this.longestFirst.length, 1);
    const found = this.longestFirst[this.current];
    if (!found) {
      return undefined;
    }
    const [start, length] = found.gap;
    const place = `Gap ${this.current + 1} of ${this.longestFirst.length}, ${found.name}`;
    return { start, length, text: `${place}: ${describe(found.gap).join(", ")}` };
  }

  /** The marks of what is in view of a device, whose names are at `y` and whose lanes end at `bottom`. */
  marks(device: number, plot: Plot, y: number, bottom: number): SVGElement[] {
    const { left, width, x } = plot;
    const [from, to] = interval(plot);
    const found: SVGElement[] = [];
    let free = left;
    for (const gap of this.inOrder[device] ?? []) {
      const [start, length, text] = gap;
      const [begin, end] = [x(start), x(start + length)];
      if (start > to || start + length < from || end - begin < 3) {
        continue;
      }
      const mark = svg("rect", { x: begin, y: y + GAPS - 3, width: end - begin, height: bottom - y - GAPS + 6, class: "idle-gap" });
      const lines = [`idle ${text}`, ...describe(gap).slice(1)];
      mark.addEventListener("pointerenter", () => { tooltip.show(mark, lines); });
      mark.addEventListener("pointerleave", () => { tooltip.hide(); });
      found.push(mark);
      const middle = Math.min(Math.max((begin + end) / 2, left + 24), width - 24);
      const half = (text.length * CHARACTER) / 2;
      if (end - begin > 8 && middle - half > free) {
        found.push(svg("text", { x: middle, y: y + 8, class: "gap-name", "text-anchor": "middle" }, text));
        free = middle + half + 6;
      }
    }
    return found;
  } // prettier-ignore
}

function describe([, , text, before, after, cause]: Gap): string[] {
  return [text, `after ${before}`, `before ${after}`, ...(cause ? [cause] : [])];
}

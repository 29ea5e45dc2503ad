/** The marks of a lane: long segments each have one, short ones share columns of one pixel. */

import { svg } from "../../dom";
import { cut } from "../../text";
import { CHARACTER, HEIGHT, interval, round, type Plot } from "./geometry";
import type { Segments } from "./segments";

/** Segments of so many pixels have a mark of their own. */
const OWN_MARK = 2;

/** What is in view of a lane at `y`; other kernels than the `marked` one are faded. */
export function laneMarks(
  segments: Segments,
  y: number,
  plot: Plot,
  categories: readonly string[],
  marked: number | undefined,
): SVGElement[] {
  const { left, width, x } = plot;
  const [from, to] = interval(plot);
  const pixels = Math.max(Math.ceil(width - left), 1);
  const columns = categories.map(() => new Float32Array(pixels));
  const children: SVGElement[] = [];
  const texts: SVGElement[] = [];
  for (let index = segments.firstAfter(from); index < segments.count && segments.start(index) < to; index++) {
    const begin = Math.max(x(segments.start(index)), left - 2);
    const end = Math.min(x(segments.end(index)), width + 2);
    const category = segments.category(index);
    if (end - begin >= OWN_MARK || marked === segments.kernel(index)) {
      const isFaded = marked !== undefined && segments.kernel(index) !== marked;
      const name = `segment cat-${categories[category] ?? "other"}${isFaded ? " faded" : ""}`;
      children.push(svg("rect", { x: round(begin), y, width: round(Math.max(end - begin - 0.5, 1)), height: HEIGHT, class: name }));
      const room = Math.floor((end - begin - 8) / CHARACTER);
      if (room >= 4) {
        texts.push(svg("text", { x: round(begin + 4), y: y + 14, class: "inside" }, cut(segments.get(index).short, room)));
      }
    } else {
      const column = columns[category];
      for (let pixel = Math.max(Math.floor(begin - left), 0); pixel <= Math.min(end - left, pixels - 1); pixel++) {
        if (column) {
          column[pixel] = (column[pixel] ?? 0) + Math.max(Math.min(end - left, pixel + 1) - Math.max(begin - left, pixel), 0.02);
        }
      }
    }
  }
  const faded = marked === undefined ? "" : " faded";
  const shared = densityPaths(columns, left, y).flatMap((d, index) =>
    d === "" ? [] : [svg("path", { d, class: `density cat-${categories[index] ?? "other"}${faded}` })],
  );
  return [...shared, ...children, ...texts];
}

/** Columns of one pixel in the colour of the category that has the most of it, as high as it is busy. */
function densityPaths(columns: readonly Float32Array[], left: number, y: number): string[] {
  const paths = columns.map(() => "");
  const pixels = columns[0]?.length ?? 0;
  for (let pixel = 0; pixel < pixels; pixel++) {
    let [most, busy, category] = [0, 0, 0];
    columns.forEach((column, index) => {
      const part = column[pixel] ?? 0;
      busy += part;
      if (part > most) {
        [most, category] = [part, index];
      }
    });
    if (busy > 0) {
      const height = Math.max(HEIGHT * Math.min(busy, 1), 3);
      paths[category] = `${paths[category] ?? ""}M${left + pixel} ${round(y + HEIGHT - height)}h1v${round(height)}h-1z`;
    }
  }
  return paths;
}

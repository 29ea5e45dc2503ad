/** The timeline of a block: what warps, copies and products do at the same time. */

import { scaleLinear, type ScaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomTransform } from "d3-zoom";
import { el, svg } from "./dom";
import { figure, type Figure } from "./figure";
import type { Host } from "./host";
import type { Lines } from "./lines";
import type { Segment, Timeline } from "./schema";
import { cut } from "./text";
import { connect, type Mark } from "./tooltip";

const LANE = 30;
const HEIGHT = 20;
const TOP = 18;
const GAP = 9;
const MOST_ZOOM = 60;
const NAMES: Readonly<Record<string, string>> = {
  copy: "copy",
  product: "matrix product",
  code: "other code",
  barrier: "barrier",
  wait: "wait",
};

export function timeline(host: Host, data: Timeline, file: string, names: Lines): Figure {
  let transform: ZoomTransform = zoomIdentity;
  const button = (text: string, label: string, factor: number): HTMLElement =>
    el("button", { class: "small", "aria-label": label, title: label, click: () => { scaleBy(factor); } }, text); // prettier-ignore
  const legend = el(
    "ul",
    { class: "legend" },
    ...used(data).map((kind) => el("li", {}, swatch(kind), NAMES[kind] ?? kind)),
  );
  let behaviour: ((factor: number) => void) | undefined;
  const scaleBy = (factor: number): void => behaviour?.(factor);
  const drawn = figure(
    host,
    {
      title: "Timeline of a block",
      note: data.title,
      summary: data.lanes.map((lane) => `${lane.name}: ${lane.segments.length} segments`).join("; "),
      file,
      controls: [button("−", "Zoom out", 1 / 2), button("+", "Zoom in", 2), button("All", "Show all of it", 0)],
      legend,
    },
    (target, width) => {
      const left = width > 560 ? 150 : 8;
      const body = svg("g");
      target.append(body);
      const height = TOP + data.lanes.length * (left > 8 ? LANE : LANE + 14) + 24;
      const show = (): void => {
        const x = transform.rescaleX(scaleLinear([0, 1], [left, width - 8]));
        drawLanes(host, names, body, data, x, left, width, height);
      };
      const zooming = zoom<SVGSVGElement, unknown>()
        .scaleExtent([1, MOST_ZOOM])
        .translateExtent([[left, 0], [width - 8, height]])
        .extent([[left, 0], [width - 8, height]])
        // The wheel scrolls the page, unless it is asked to zoom.
        .filter((event: MouseEvent) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button))
        .on("zoom", (event: D3ZoomEvent<SVGSVGElement, unknown>) => {
          transform = event.transform;
          show();
        }); // prettier-ignore
      const selected = select(target).call(zooming).on("dblclick.zoom", null);
      behaviour = (factor) => {
        if (factor === 0) {
          selected.call((target) => { zooming.transform(target, zoomIdentity); }); // prettier-ignore
        } else {
          selected.call((target) => { zooming.scaleBy(target, factor); }); // prettier-ignore
        }
      };
      selected.property("__zoom", transform);
      show();
      return height;
    },
  );
  return drawn;
}

function used(data: Timeline): string[] {
  const kinds = new Set(data.lanes.flatMap((lane) => lane.segments.map(([kind]) => kind)));
  return data.kinds.filter((_, index) => kinds.has(index));
}

function swatch(kind: string): SVGSVGElement {
  return svg(
    "svg",
    { width: 14, height: 12, "aria-hidden": "true", class: "swatch" },
    ...(kind === "wait" ? [hatching()] : []),
    svg("rect", { x: 0.5, y: 0.5, width: 13, height: 11, class: `segment ${kind}` }),
  );
}

/** Stripes, so that a wait is told from work without colours. */
function hatching(): SVGDefsElement {
  const pattern = svg(
    "pattern",
    { id: "hatching", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("line", { x1: 0, x2: 0, y1: 0, y2: 5, class: "hatch" }),
  );
  return svg("defs", {}, pattern);
}

function drawLanes(
  host: Host,
  names: Lines,
  target: SVGGElement,
  data: Timeline,
  x: ScaleLinear<number, number>,
  left: number,
  width: number,
  height: number,
): void {
  const clip = svg("clipPath", { id: "lanes" }, svg("rect", { x: left, y: 0, width: width - left - 4, height }));
  target.replaceChildren(svg("defs", {}, clip), hatching());
  const inside = svg("g", { "clip-path": "url(#lanes)" });
  const pitch = left > 8 ? LANE : LANE + 14;
  for (const [at, text] of data.ticks) {
    const place = x(at);
    inside.append(
      svg("line", { x1: place, x2: place, y1: TOP, y2: height - 22, class: "grid" }),
      svg("text", { x: place, y: height - 8, class: "tick", "text-anchor": at === 0 ? "start" : "middle" }, text),
    );
  }
  const marks: Mark[] = [];
  const texts = svg("g", { "aria-hidden": "true", class: "texts" });
  data.lanes.forEach((lane, index) => {
    const y = TOP + index * pitch + (left > 8 ? (LANE - HEIGHT) / 2 : 17);
    target.append(
      left > 8
        ? svg("text", { x: left - 10, y: y + 14, class: "label", "text-anchor": "end" }, cut(lane.name, 22))
        : svg("text", { x: left, y: y - 5, class: "label" }, lane.name),
      svg("line", { x1: left, x2: width - 8, y1: y + HEIGHT, y2: y + HEIGHT, class: "base" }),
    );
    for (const segment of lane.segments) {
      const mark = drawSegment(host, names, data, lane.name, segment, x, y, texts);
      if (mark) {
        marks.push(mark);
        inside.append(mark.element);
      }
    }
  });
  inside.append(texts);
  for (const [at, text] of data.gaps) {
    const place = x(at);
    inside.append(
      svg("rect", { x: place - GAP / 2, y: TOP - 4, width: GAP, height: height - 22 - TOP + 4, class: "gap" }),
      svg("path", { d: zigzag(place - GAP / 2, TOP - 4, height - 22), class: "gap-edge" }),
      svg("path", { d: zigzag(place + GAP / 2, TOP - 4, height - 22), class: "gap-edge" }),
      svg("text", { x: place, y: TOP - 7, class: "gap-name", "text-anchor": "middle" }, `+ ${text}`),
    );
  }
  target.append(inside);
  connect(marks);
}

function zigzag(x: number, top: number, bottom: number): string {
  let path = `M${x} ${top}`;
  for (let y = top; y < bottom; y += 8) {
    path += `l2.5 4l-2.5 4`;
  }
  return path;
}

function drawSegment(
  host: Host,
  names: Lines,
  data: Timeline,
  lane: string,
  segment: Segment,
  x: ScaleLinear<number, number>,
  y: number,
  texts: SVGGElement,
): Mark | undefined {
  const [kindIndex, start, end, text, duration, line, iteration, complete] = segment;
  const [from, to] = [x(start), x(end)];
  const [first = 0, last = 0] = x.range();
  if (to < first || from > last) {
    return undefined;
  }
  const kind = data.kinds[kindIndex] ?? "code";
  const label = data.texts[text] ?? "";
  const width = Math.max(to - from - 0.5, 0.8);
  const group = svg("g", {}, svg("rect", { x: from, y, width, height: HEIGHT, class: `segment ${kind}` }));
  if (complete > end) {
    const arrives = x(complete);
    group.append(
      svg("line", { x1: to, x2: arrives, y1: y + HEIGHT - 2.5, y2: y + HEIGHT - 2.5, class: "flight" }),
      svg("line", { x1: arrives, x2: arrives, y1: y + HEIGHT - 5, y2: y + HEIGHT, class: "flight" }),
    );
  }
  const inside = iteration >= 0 && kind === "copy" ? String(iteration) : cut(label, Math.floor(width / 6.6));
  if (width > 6.6 * Math.max(inside.length, 1) + 4 && inside.length > (iteration >= 0 && kind === "copy" ? 0 : 5) && kind !== "wait") {
    texts.append(svg("text", { x: from + width / 2, y: y + 14, class: "inside", "text-anchor": "middle" }, inside));
  } // prettier-ignore
  return {
    element: group,
    lines: [
      label || (NAMES[kind] ?? kind),
      `${NAMES[kind] ?? kind}: ${data.texts[duration] ?? ""}`,
      lane,
      ...(iteration >= 0 ? [`iteration ${iteration}`] : []),
      ...(line ? [names.long(line)] : []),
    ],
    ...(line ? { activate: () => { host.reveal(line); } } : {}),
  }; // prettier-ignore
}

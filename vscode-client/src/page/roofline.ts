/** The roofline: ceilings of each memory level and type, the kernel at each level, and its parts. */

import { axisBottom, axisLeft } from "d3-axis";
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { el, svg } from "./dom";
import { figure, type Figure } from "./figure";
import type { Host } from "./host";
import type { Lines } from "./lines";
import type { Level, Roofline, Tick } from "./schema";
import { cut } from "./text";
import { connect, type Mark } from "./tooltip";

const MARGIN = { left: 78, right: 14, top: 12, bottom: 36 };
const LABEL = 11;
const NAMES: Readonly<Record<Level, string>> = { dram: "DRAM", l2: "L2", shared: "Shared" };

type Point = Roofline["points"][number];

export function roofline(host: Host, data: Roofline, title: string, file: string, names: Lines): Figure {
  const levels = data.bandwidths.map(({ level }) => level);
  let chosen = levels.find((level) => level === host.state.level) ?? "dram";
  const controls = levels.map((level) =>
    el("button", { class: "small", "aria-pressed": String(level === chosen), click: () => { choose(level); } }, NAMES[level]),
  ); // prettier-ignore
  const drawn = figure(
    host,
    {
      title,
      file,
      summary: summary(data),
      controls: levels.length > 1 ? [el("div", { class: "choice", role: "group", "aria-label": "FLOP per byte of" }, ...controls)] : [],
    }, // prettier-ignore
    (target, width) => draw(host, target, width, data, chosen, names),
  );
  const choose = (level: Level): void => {
    chosen = level;
    host.state = { ...host.state, level };
    controls.forEach((button, index) => {
      button.setAttribute("aria-pressed", String(levels[index] === level));
    });
    drawn.redraw();
  };
  return drawn;
}

function summary(data: Roofline): string {
  const ceilings = [...data.bandwidths, ...data.peaks].map(({ text }) => text).join("; ");
  const points = data.points.map((point) => `${point.label} ${point.rate}`).join("; ");
  return `Roofline. Ceilings: ${ceilings}. Points: ${points}.`;
}

function draw(host: Host, target: SVGSVGElement, width: number, data: Roofline, level: Level, names: Lines): number {
  const height = Math.round(Math.min(Math.max(width * 0.56, 230), 380));
  const x = scaleLinear([0, 1], [MARGIN.left, width - MARGIN.right]);
  const y = scaleLinear([0, 1], [height - MARGIN.bottom, MARGIN.top]);
  drawAxes(target, data, x, y);
  for (const { level: own, line, text } of data.bandwidths) {
    const [x1, y1, x2, y2] = [x(line[0]), y(line[1]), x(line[2]), y(line[3])];
    const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
    const name = svg("text", { class: `level-${own} ceiling-name`, dy: -5 }, text);
    const at = Math.max(MARGIN.left, x1);
    const up = y1 + ((at - x1) / (x2 - x1)) * (y2 - y1);
    name.setAttribute("transform", `translate(${at + 6} ${up - 4}) rotate(${angle})`);
    target.append(svg("line", { x1, y1, x2, y2, class: `ceiling level-${own}` }), name);
  }
  const lowest = Math.min(...data.peaks.map((peak) => peak.y));
  for (const peak of data.peaks) {
    const at = y(peak.y);
    const below = peak.y === lowest && data.peaks.length > 1;
    target.append(
      svg("line", { x1: x(peak.x), x2: width - MARGIN.right, y1: at, y2: at, class: peak.used ? "ceiling peak" : "ceiling peak unused" }),
      svg("text", { x: width - MARGIN.right, y: below ? at + 13 : at - 5, class: "peak-name", "text-anchor": "end" }, peak.text),
    ); // prettier-ignore
  }
  drawPoints(host, names, target, data.points, level, x, y);
  return height;
}

function drawAxes(
  target: SVGSVGElement,
  data: Roofline,
  x: ScaleLinear<number, number>,
  y: ScaleLinear<number, number>,
): void {
  const [left = 0, right = 0] = x.range();
  const [bottom = 0, top = 0] = y.range();
  const texts = (ticks: Tick[]) => (value: number | { valueOf(): number }): string =>
    ticks.find(([at]) => at === value)?.[1] ?? "";
  const across = thin(data.x.ticks, (right - left) / 52);
  const up = thin(data.y.ticks, (bottom - top) / 24);
  select(target)
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(0 ${bottom})`)
    .call(axisBottom(x).tickValues(across.map(([at]) => at)).tickFormat(texts(across)).tickSize(-(bottom - top)).tickPadding(7)); // prettier-ignore
  select(target)
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(${left} 0)`)
    .call(axisLeft(y).tickValues(up.map(([at]) => at)).tickFormat(texts(up)).tickSize(-(right - left)).tickPadding(7)); // prettier-ignore
  target.append(
    svg("text", { x: (left + right) / 2, y: bottom + 31, class: "axis-title", "text-anchor": "middle" }, data.x.title),
  );
}

/** So many ticks at most, evenly chosen. */
function thin(ticks: Tick[], most: number): Tick[] {
  const every = Math.max(Math.ceil(ticks.length / Math.max(most, 1)), 1);
  return ticks.filter((_, index) => index % every === 0);
}

function drawPoints(
  host: Host,
  names: Lines,
  target: SVGSVGElement,
  points: readonly Point[],
  level: Level,
  x: ScaleLinear<number, number>,
  y: ScaleLinear<number, number>,
): void {
  const marks: Mark[] = [];
  const taken: { left: number; right: number; y: number }[] = [];
  // The kernel last: it is above its parts where they meet.
  const ordered = [...points].sort((one, other) => rank(other) - rank(one));
  for (const point of ordered) {
    const at = point.x[level];
    const cy = y(point.y);
    if (point.kind === "kernel") {
      drawLevels(target, point, level, x, cy);
    }
    if (at === undefined) {
      continue;
    }
    const cx = x(at);
    const shape = svg("path", { d: SHAPES[point.kind], transform: `translate(${cx} ${cy})`, class: `point ${point.kind}` });
    const hit = svg("circle", { cx, cy, r: 10, class: "hit" });
    const { line } = point;
    marks.push({
      element: svg("g", {}, shape, hit),
      lines: describe(point, level, names),
      ...(line === null ? {} : { activate: () => { host.reveal(line); } }),
    }); // prettier-ignore
    taken.push({ left: cx - 7, right: cx + 7, y: cy });
  }
  target.append(...marks.map(({ element }) => element));
  for (const point of [...ordered].reverse()) {
    const at = point.x[level];
    if (at !== undefined) {
      drawName(target, point, names, x(at), y(point.y), x.range(), taken);
    }
  }
  connect([...marks].reverse());
}

function rank({ kind }: Point): number {
  return kind === "kernel" ? 0 : 1;
}

/** The kernel at the other memory levels: the same rate at other intensities. */
function drawLevels(
  target: SVGSVGElement,
  point: Point,
  chosen: Level,
  x: ScaleLinear<number, number>,
  cy: number,
): void {
  const all = Object.entries(point.x) as [Level, number][];
  const ends = all.map(([, at]) => x(at));
  target.append(svg("line", { x1: Math.min(...ends), x2: Math.max(...ends), y1: cy, y2: cy, class: "levels" }));
  for (const [level, at] of all) {
    if (level !== chosen) {
      target.append(svg("circle", { cx: x(at), cy, r: 3.5, class: `other level-${level}` }));
    }
  }
}

const SHAPES: Readonly<Record<Point["kind"], string>> = {
  kernel: "M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0",
  loop: "M-4,-4h8v8h-8z",
  statement: "M0,-5.5L5.5,0L0,5.5L-5.5,0Z",
};

function describe(point: Point, level: Level, names: Lines): string[] {
  const place = point.line === null ? "" : names.long(point.line);
  const title = point.kind === "kernel" ? point.label : `${place} ${cut(point.label, 60)}`.trim();
  const intensities = (Object.entries(point.intensity) as [Level, string][]).map(
    ([name, text]) => `${text} ${NAMES[name]}${name === level ? " (shown)" : ""}`,
  );
  const share = point.kind === "kernel" ? [] : [`${point.share} of the time`];
  return [title, point.rate, ...intensities, ...share];
}

/** The name of a point, where it does not cover another one. */
function drawName(
  target: SVGSVGElement,
  point: Point,
  names: Lines,
  cx: number,
  cy: number,
  [left = 0, right = 0]: number[],
  taken: { left: number; right: number; y: number }[],
): void {
  const text = point.kind === "kernel" ? cut(point.label, 28) : point.line === null ? "" : names.long(point.line);
  const length = 6.4 * text.length;
  const places = [
    { left: cx + 9, right: cx + 9 + length, y: cy, anchor: "start", x: cx + 9 },
    { left: cx - 9 - length, right: cx - 9, y: cy, anchor: "end", x: cx - 9 },
    { left: cx - length / 2, right: cx + length / 2, y: cy + 15, anchor: "middle", x: cx },
  ];
  const free = places.find(
    (place) =>
      text !== "" &&
      place.left > left &&
      place.right < right &&
      !taken.some((other) => other.left < place.right && place.left < other.right && Math.abs(other.y - place.y) < LABEL + 1),
  ); // prettier-ignore
  if (free) {
    taken.push(free);
    target.append(svg("text", { x: free.x, y: free.y + 4, class: `point-name ${point.kind}`, "text-anchor": free.anchor }, text));
  }
}

/** The timeline of a step: a lane for each stream of each device, the gaps, and all of it at a glance. */

import { scaleLinear, type ScaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomTransform } from "d3-zoom";
import { el, svg } from "../dom";
import { figure, type Figure } from "../figure";
import type { Host } from "../host";
import { cut } from "../text";
import { tooltip } from "../tooltip";
import { hatching, swatch } from "./colours";
import type { Gap, Timeline } from "./schema";
import { Segments } from "./segments";
import { ticks, time } from "./time";

const OVERVIEW = 44;
const TOP = OVERVIEW + 26;
const LANE = 26;
const HEIGHT = 20;
const DEVICE = 22;
const GAPS = 14;
const CHARACTER = 6.4;
/** The least length in the whole width, in nanoseconds. */
const CLOSEST = 200;
/** Segments of so many pixels have a mark of their own, shorter ones a column with others. */
const OWN_MARK = 2;

export interface TimelineFigure extends Figure {
  /** Shows a part of the time. */
  show: (from: number, to: number) => void;
  /** Marks all executions of a kernel. */
  mark: (kernel: number | undefined) => void;
}

interface DrawnLane {
  name: string;
  device: number;
  segments: Segments;
  y: number;
  group: SVGGElement;
  inner: SVGGElement;
}

type Scale = ScaleLinear<number, number>;

export function timeline(
  host: Host,
  data: Timeline,
  file: string,
  announce: (text: string) => void,
): TimelineFigure {
  const lanes = data.devices.map((device) => device.lanes.map((lane) => new Segments(lane, data)));
  const view = new View(data, lanes, announce);
  const button = (text: string, label: string, action: () => void): HTMLElement =>
    el("button", { class: "small", "aria-label": label, title: label, click: action }, text);
  const used = data.categories.filter((_, index) => data.overview[index]?.some((part) => part > 0));
  const drawn = figure(
    host,
    {
      title: "Timeline",
      note: [
        data.note,
        "Drag or Ctrl + wheel to move and zoom. On a lane, arrow keys go from one operation to the next, + and − zoom, 0 shows all, G goes to the next longest gap.",
      ].filter(Boolean).join(" "),
      summary: data.devices
        .map(({ name, idle, lanes: own }) => `${name}: ${own.map((lane) => `${lane.name} ${lane.operations} operations`).join(", ")}; ${idle}`)
        .join("; "),
      file,
      controls: [
        button("−", "Zoom out", () => { view.scaleBy(1 / 2); }),
        button("+", "Zoom in", () => { view.scaleBy(2); }),
        button("All", "Show all of it", () => { view.scaleBy(0); }),
        button("Next gap", "Next gap: go to the next longest one", () => { view.nextGap(); }),
      ],
      legend: el("ul", { class: "legend" }, ...[...used, "idle"].map((name) => el("li", {}, swatch(name), name))),
    },
    (target, width) => view.draw(target, width),
  ); // prettier-ignore
  return {
    ...drawn,
    show: (from, to) => {
      view.show(from, to);
      drawn.element.scrollIntoView({ block: "nearest" });
    },
    mark: (kernel) => { view.mark(kernel); },
  }; // prettier-ignore
}

class View {
  private transform: ZoomTransform = zoomIdentity;
  private whole: Scale = scaleLinear();
  private x: Scale = scaleLinear();
  private width = 0;
  private height = 0;
  private left = 0;
  private lanes: DrawnLane[] = [];
  private axis = svg("g");
  private gaps = svg("g");
  private readonly cursor = svg("rect", { class: "cursor", visibility: "hidden" });
  private brush = svg("rect");
  private focus: { lane: number; segment: number } | undefined;
  private marked: number | undefined;
  private gap = -1;
  private move: ((transform: ZoomTransform) => void) | undefined;

  constructor(
    private readonly data: Timeline,
    private readonly segments: Segments[][],
    private readonly announce: (text: string) => void,
  ) {}

  draw(target: SVGSVGElement, width: number): number {
    const isWide = width > 620;
    this.width = width;
    this.left = isWide ? 104 : 0;
    this.whole = scaleLinear([0, this.data.length], [this.left, width]);
    this.lanes = [];
    target.append(hatching());
    this.drawOverview(target);
    this.axis = svg("g", { "aria-hidden": "true" });
    this.gaps = svg("g", { "aria-hidden": "true" });
    const bodies = svg("g", { "clip-path": "url(#lanes)" });
    target.append(this.axis);
    let y = TOP;
    this.data.devices.forEach((device, number) => {
      target.append(
        svg("text", { x: 0, y: y + 14, class: "label strong" }, cut(device.name, Math.floor(width * 0.6 / CHARACTER))),
        svg("text", { x: width, y: y + 14, class: "tick", "text-anchor": "end" }, device.idle),
      ); // prettier-ignore
      y += DEVICE + GAPS;
      device.lanes.forEach((lane, index) => {
        const segments = this.segments[number]?.[index];
        if (segments) {
          y += isWide || lane.name === "" ? 0 : 13;
          const name = lane.name || device.name;
          if (lane.name !== "") {
            target.append(
              isWide
                ? svg("text", { x: this.left - 8, y: y + 14, class: "label", "text-anchor": "end" }, cut(lane.name, 15))
                : svg("text", { x: 0, y: y - 3, class: "tick" }, lane.name),
            );
          }
          bodies.append(this.lane(name, `${device.name}, ${name}: ${lane.operations} operations`, number, segments, y));
          y += LANE;
        }
      });
      y += 6;
    });
    this.height = y + 4;
    const clip = svg("clipPath", { id: "lanes" }, svg("rect", { x: this.left, y: 0, width: width - this.left, height: y }));
    target.append(svg("defs", {}, clip), bodies, svg("g", { "clip-path": "url(#lanes)" }, this.gaps, this.cursor));
    this.connect(target);
    this.refresh();
    return this.height;
  } // prettier-ignore

  /** What each category has of the time, in all of the step. */
  private drawOverview(target: SVGSVGElement): void {
    const { overview, categories } = this.data;
    const bins = overview[0]?.length ?? 0;
    const width = (this.width - this.left) / Math.max(bins, 1);
    const base = new Float64Array(bins);
    target.append(
      svg("rect", { x: this.left, y: 0, width: this.width - this.left, height: OVERVIEW, class: "segment cat-idle" }),
    );
    overview.forEach((parts, index) => {
      let path = "";
      parts.forEach((part, bin) => {
        if (part > 0) {
          const top = OVERVIEW * (1 - (base[bin] ?? 0) - part);
          path += `M${round(this.left + bin * width)} ${round(top)}h${round(width)}v${round(OVERVIEW * part)}h${round(-width)}z`;
          base[bin] = (base[bin] ?? 0) + part;
        }
      });
      if (path !== "") {
        target.append(svg("path", { d: path, class: `density cat-${categories[index] ?? "other"}` }));
      }
    });
    if (this.left > 0) {
      target.append(svg("text", { x: this.left - 8, y: OVERVIEW / 2 + 4, class: "label", "text-anchor": "end" }, "whole step"));
    }
    this.brush = svg("rect", { y: 0.75, height: OVERVIEW - 1.5, class: "brush" });
    const area = svg("rect", { x: this.left, y: 0, width: this.width - this.left, height: OVERVIEW, class: "hit overview-area" });
    const go = (event: PointerEvent): void => {
      const box = area.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * this.data.length;
      const half = this.visible() / 2;
      this.show(at - half, at + half);
    };
    area.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      area.setPointerCapture(event.pointerId);
      go(event);
    });
    area.addEventListener("mousedown", (event) => { event.stopPropagation(); });
    area.addEventListener("touchstart", (event) => { event.stopPropagation(); }, { passive: true });
    area.addEventListener("pointermove", (event) => {
      if (area.hasPointerCapture(event.pointerId)) {
        go(event);
      }
    });
    target.append(this.brush, area);
  } // prettier-ignore

  private lane(name: string, label: string, device: number, segments: Segments, y: number): SVGGElement {
    const inner = svg("g", { "aria-hidden": "true" });
    const hit = svg("rect", { x: this.left, y, width: this.width - this.left, height: HEIGHT, class: "hit lane-area" });
    const number = this.lanes.length;
    const group = svg(
      "g",
      { tabindex: number === 0 ? 0 : -1, role: "img", "aria-label": label, class: "lane" },
      inner,
      svg("line", { x1: this.left, x2: this.width, y1: y + HEIGHT, y2: y + HEIGHT, class: "base" }),
      hit,
    );
    const drawn = { name, device, segments, y, group, inner };
    this.lanes.push(drawn);
    hit.addEventListener("pointermove", (event) => {
      const box = hit.getBoundingClientRect();
      const at = this.left + ((event.clientX - box.left) / box.width) * (this.width - this.left);
      const found = segments.at(this.x.invert(at), this.visible() / 300);
      if (found === undefined) {
        this.hide();
      } else {
        this.point(number, found);
      }
    });
    hit.addEventListener("pointerleave", () => { this.hide(); });
    group.addEventListener("keydown", (event) => { this.steer(number, event); });
    group.addEventListener("blur", () => { this.hide(); });
    return group;
  } // prettier-ignore

  private connect(target: SVGSVGElement): void {
    const { left, width, height } = this;
    const zooming = zoom<SVGSVGElement, unknown>()
      .scaleExtent([1, Math.max(this.data.length / CLOSEST, 1)])
      .translateExtent([[left, 0], [width, height]])
      .extent([[left, 0], [width, height]])
      // The wheel scrolls the page, unless it is asked to zoom.
      .filter((event: MouseEvent) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button))
      .on("zoom", (event: D3ZoomEvent<SVGSVGElement, unknown>) => {
        this.transform = event.transform;
        this.refresh();
      });
    const selected = select(target).call(zooming).on("dblclick.zoom", null);
    this.move = (transform) => {
      selected.call((one) => { zooming.transform(one, transform); });
    };
    selected.property("__zoom", this.transform);
  } // prettier-ignore

  scaleBy(factor: number): void {
    const [from, to] = this.window();
    const middle = (from + to) / 2;
    const half = factor === 0 ? this.data.length : (to - from) / 2 / factor;
    this.show(middle - half, middle + half);
  }

  show(from: number, to: number): void {
    const length = Math.min(Math.max(to - from, CLOSEST), this.data.length);
    const begin = Math.min(Math.max((from + to - length) / 2, 0), this.data.length - length);
    const scale = this.data.length / length;
    this.move?.(zoomIdentity.translate(this.left - this.whole(begin) * scale, 0).scale(scale));
  }

  nextGap(): void {
    const all = this.data.devices.flatMap(({ gaps, name }) => gaps.map((gap) => ({ gap, name })));
    all.sort((one, other) => other.gap[1] - one.gap[1]);
    this.gap = all.length > 0 ? (this.gap + 1) % all.length : -1;
    const found = all[this.gap];
    if (found) {
      const [start, length] = found.gap;
      this.show(start - 1.5 * length, start + 2.5 * length);
      this.announce(`Gap ${this.gap + 1} of ${all.length}, ${found.name}: ${describe(found.gap).join(", ")}`);
    }
  }

  mark(kernel: number | undefined): void {
    this.marked = kernel;
    this.refresh();
  }

  private window(): [number, number] {
    const [from = 0, to = 0] = this.x.domain();
    return [from, to];
  }

  private visible(): number {
    const [from, to] = this.window();
    return to - from;
  }

  private refresh(): void {
    this.x = this.transform.rescaleX(this.whole);
    const [from, to] = this.window();
    const [begin, end] = [this.whole(Math.max(from, 0)), this.whole(Math.min(to, this.data.length))];
    this.brush.setAttribute("x", String(begin));
    this.brush.setAttribute("width", String(Math.max(end - begin, 2)));
    this.brush.setAttribute("visibility", end - begin > this.width - this.left - 1 ? "hidden" : "visible");
    const bottom = this.height - 8;
    this.axis.replaceChildren(
      ...ticks(from, to, (this.width - this.left) / 90).flatMap(([at, text]) => {
        const place = this.x(at);
        return [
          svg("line", { x1: place, x2: place, y1: TOP - 6, y2: bottom, class: "grid" }),
          svg("text", { x: place, y: TOP - 10, class: "tick", "text-anchor": place < this.left + 20 ? "start" : place > this.width - 24 ? "end" : "middle" }, text),
        ];
      }),
    );
    this.lanes.forEach((lane) => { this.drawLane(lane, from, to); });
    this.drawGaps(from, to);
    this.hide();
  } // prettier-ignore

  private drawLane({ segments, y, inner }: DrawnLane, from: number, to: number): void {
    const { left, width, x } = this;
    const pixels = Math.max(Math.ceil(width - left), 1);
    const columns = this.data.categories.map(() => new Float32Array(pixels));
    const children: SVGElement[] = [];
    const texts: SVGElement[] = [];
    for (let index = segments.firstAfter(from); index < segments.count && segments.start(index) < to; index++) {
      const begin = Math.max(x(segments.start(index)), left - 2);
      const end = Math.min(x(segments.end(index)), width + 2);
      const category = segments.category(index);
      if (end - begin >= OWN_MARK || this.marked === segments.kernel(index)) {
        const isFaded = this.marked !== undefined && segments.kernel(index) !== this.marked;
        const name = `segment cat-${this.data.categories[category] ?? "other"}${isFaded ? " faded" : ""}`;
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
    inner.replaceChildren(...this.columns(columns, y), ...children, ...texts);
  } // prettier-ignore

  /** Columns of one pixel in the colour of the category that has the most of it, as high as it is busy. */
  private columns(columns: readonly Float32Array[], y: number): SVGElement[] {
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
        paths[category] = `${paths[category] ?? ""}M${this.left + pixel} ${round(y + HEIGHT - height)}h1v${round(height)}h-1z`;
      }
    }
    return paths.flatMap((d, index) =>
      d === "" ? [] : [svg("path", { d, class: `density cat-${this.data.categories[index] ?? "other"}${this.marked === undefined ? "" : " faded"}` })],
    );
  } // prettier-ignore

  private drawGaps(from: number, to: number): void {
    this.gaps.replaceChildren();
    this.data.devices.forEach((device, number) => {
      const own = this.lanes.filter((lane) => lane.device === number);
      const y = (own[0]?.y ?? 0) - GAPS - (this.left > 0 || (device.lanes[0]?.name ?? "") === "" ? 0 : 13);
      const bottom = (own.at(-1)?.y ?? 0) + HEIGHT;
      let free = this.left;
      for (const gap of [...device.gaps].sort((one, other) => one[0] - other[0])) {
        const [start, length, text] = gap;
        const [begin, end] = [this.x(start), this.x(start + length)];
        if (start > to || start + length < from || end - begin < 3) {
          continue;
        }
        const mark = svg("rect", { x: begin, y: y + GAPS - 3, width: end - begin, height: bottom - y - GAPS + 6, class: "idle-gap" });
        const lines = [`idle ${text}`, ...describe(gap).slice(1)];
        mark.addEventListener("pointerenter", () => { tooltip.show(mark, lines); });
        mark.addEventListener("pointerleave", () => { tooltip.hide(); });
        this.gaps.append(mark);
        const middle = Math.min(Math.max((begin + end) / 2, this.left + 24), this.width - 24);
        const half = (text.length * CHARACTER) / 2;
        if (end - begin > 8 && middle - half > free) {
          this.gaps.append(svg("text", { x: middle, y: y + 8, class: "gap-name", "text-anchor": "middle" }, text));
          free = middle + half + 6;
        }
      }
    });
  } // prettier-ignore

  /** Shows what a segment is. */
  private point(number: number, index: number): void {
    const lane = this.lanes[number];
    if (!lane) {
      return;
    }
    const segment = lane.segments.get(index);
    const begin = Math.max(this.x(segment.start), this.left);
    const end = Math.min(this.x(segment.end), this.width);
    for (const [name, value] of Object.entries({ x: begin - 1, y: lane.y - 1, width: Math.max(end - begin, 1) + 2, height: HEIGHT + 2, visibility: "visible" })) {
      this.cursor.setAttribute(name, String(value));
    }
    tooltip.show(this.cursor, this.lines(lane, index));
  } // prettier-ignore

  private lines(lane: DrawnLane, index: number): string[] {
    const { name, start, end, category, count } = lane.segments.get(index);
    return [
      name,
      `${time(end - start)}${count > 1 ? " from the first to the last" : `, ${this.data.categories[category] ?? "other"}`}`,
      `at ${time(start)}`,
      lane.name,
    ];
  }

  private hide(): void {
    this.cursor.setAttribute("visibility", "hidden");
    tooltip.hide();
  }

  private steer(number: number, event: KeyboardEvent): void {
    const lane = this.lanes[number];
    const last = (lane?.segments.count ?? 0) - 1;
    const [from, to] = this.window();
    const known = this.focus?.lane === number ? this.focus.segment : undefined;
    const first = Math.min(lane?.segments.firstAfter(from) ?? 0, last);
    const steps: Record<string, number> = {
      ArrowRight: known === undefined ? first : known + 1,
      ArrowLeft: known === undefined ? first : known - 1,
      Home: 0,
      End: last,
    };
    const target = steps[event.key];
    if (!lane || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (target !== undefined) {
      this.select(number, Math.min(Math.max(target, 0), last));
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = this.lanes[number + (event.key === "ArrowDown" ? 1 : -1)];
      if (next) {
        lane.group.setAttribute("tabindex", "-1");
        next.group.setAttribute("tabindex", "0");
        next.group.focus();
      }
    } else if (event.key === "+" || event.key === "=" || event.key === "-") {
      const factor = event.key === "-" ? 1 / 2 : 2;
      const middle = known === undefined ? (from + to) / 2 : (lane.segments.start(known) + lane.segments.end(known)) / 2;
      const half = (to - from) / 2 / factor;
      this.show(middle - half, middle + half);
    } else if (event.key === "0") {
      this.scaleBy(0);
    } else if (event.key === "g" || event.key === "G") {
      this.nextGap();
    } else if (event.key === "Enter" && known !== undefined) {
      const length = lane.segments.end(known) - lane.segments.start(known);
      this.show(lane.segments.start(known) - length, lane.segments.end(known) + length);
    } else if (event.key === "Escape") {
      this.hide();
    } else {
      return;
    }
    event.preventDefault();
  } // prettier-ignore

  /** Makes a segment the one of the keyboard, in view. */
  private select(number: number, index: number): void {
    const lane = this.lanes[number];
    if (!lane || index < 0) {
      return;
    }
    this.focus = { lane: number, segment: index };
    const [start, end] = [lane.segments.start(index), lane.segments.end(index)];
    const [from, to] = this.window();
    if (start < from || end > to) {
      const half = Math.max(to - from, 1.2 * (end - start)) / 2;
      this.show((start + end) / 2 - half, (start + end) / 2 + half);
    }
    this.point(number, index);
    this.announce(this.lines(lane, index).join(", "));
  }
}

function describe([, , text, before, after, cause]: Gap): string[] {
  return [text, `after ${before}`, `before ${after}`, ...(cause ? [cause] : [])];
}

function round(value: number): number {
  return Math.round(100 * value) / 100;
}

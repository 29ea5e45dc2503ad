/** What is drawn of the timeline, the part of it that is in view, and the pointer and the keys on it. */

import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomTransform } from "d3-zoom";
import { svg } from "../../dom";
import { cut } from "../../text";
import { tooltip } from "../../tooltip";
import { hatching } from "../colours";
import type { Timeline } from "../schema";
import { ticks, time } from "../time";
import { Gaps } from "./gaps";
import { CHARACTER, DEVICE, GAPS, HEIGHT, interval, LANE, NAME, TOP, type Plot, type Scale } from "./geometry";
import { commandOf, type Command } from "./keys";
import { laneMarks } from "./marks";
import { Overview } from "./overview";
import { Segments } from "./segments";

/** The least length in the whole width, in nanoseconds. */
const CLOSEST = 200;

interface DrawnLane {
  name: string;
  device: number;
  segments: Segments;
  y: number;
  group: SVGGElement;
  inner: SVGGElement;
}

export class View implements Plot {
  left = 0;
  width = 0;
  x: Scale = scaleLinear();
  private whole: Scale = scaleLinear();
  private height = 0;
  private transform: ZoomTransform = zoomIdentity;
  private move: ((transform: ZoomTransform) => void) | undefined;
  private lanes: DrawnLane[] = [];
  private overview: Overview | undefined;
  private axis = svg("g");
  private gapMarks = svg("g");
  private readonly cursor = svg("rect", { class: "cursor", visibility: "hidden" });
  private readonly segments: readonly Segments[][];
  private readonly gaps: Gaps;
  private focus: { lane: number; segment: number } | undefined;
  private marked: number | undefined;

  constructor(
    private readonly data: Timeline,
    private readonly announce: (text: string) => void,
  ) {
    this.segments = data.devices.map((device) => device.lanes.map((lane) => new Segments(lane, data)));
    this.gaps = new Gaps(data);
  }

  draw(target: SVGSVGElement, width: number): number {
    const isWide = width > 620;
    this.width = width;
    this.left = isWide ? 104 : 0;
    this.whole = scaleLinear([0, this.data.length], [this.left, width]);
    this.lanes = [];
    target.append(hatching());
    this.overview = new Overview(target, this.data, this.left, width, (at) => {
      const half = this.visible() / 2;
      this.show(at - half, at + half);
    });
    this.axis = svg("g", { "aria-hidden": "true" });
    this.gapMarks = svg("g", { "aria-hidden": "true" });
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
          y += isWide || lane.name === "" ? 0 : NAME;
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
    target.append(svg("defs", {}, clip), bodies, svg("g", { "clip-path": "url(#lanes)" }, this.gapMarks, this.cursor));
    this.connect(target);
    this.refresh();
    return this.height;
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

  /** Zooms about a time, by default the middle of the view; a factor of 0 shows all. */
  scaleBy(factor: number, about?: number): void {
    const [from, to] = interval(this);
    const middle = about ?? (from + to) / 2;
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
    const found = this.gaps.next();
    if (found) {
      const { start, length, text } = found;
      this.show(start - 1.5 * length, start + 2.5 * length);
      this.announce(text);
    }
  }

  mark(kernel: number | undefined): void {
    this.marked = kernel;
    this.refresh();
  }

  private visible(): number {
    const [from, to] = interval(this);
    return to - from;
  }

  private refresh(): void {
    this.x = this.transform.rescaleX(this.whole);
    const [from, to] = interval(this);
    const [begin, end] = [this.whole(Math.max(from, 0)), this.whole(Math.min(to, this.data.length))];
    this.overview?.mark(begin, end);
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
    for (const { segments, y, inner } of this.lanes) {
      inner.replaceChildren(...laneMarks(segments, y, this, this.data.categories, this.marked));
    }
    this.gapMarks.replaceChildren(...this.data.devices.flatMap((_, device) => this.marksOfGaps(device)));
    this.hide();
  } // prettier-ignore

  private marksOfGaps(device: number): SVGElement[] {
    const own = this.lanes.filter((lane) => lane.device === device);
    const hasName = this.left === 0 && Boolean(this.data.devices[device]?.lanes[0]?.name);
    const y = (own[0]?.y ?? 0) - GAPS - (hasName ? NAME : 0);
    return this.gaps.marks(device, this, y, (own.at(-1)?.y ?? 0) + HEIGHT);
  }

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
    const command = commandOf(event);
    if (lane && command && this.execute(command, lane, number)) {
      event.preventDefault();
    }
  }

  /** Executes the command of a key on a lane; false if there is nothing that it is for. */
  private execute(command: Command, lane: DrawnLane, number: number): boolean {
    const { segments } = lane;
    const known = this.focus?.lane === number ? this.focus.segment : undefined;
    switch (command.name) {
      case "segment": {
        const last = segments.count - 1;
        const first = Math.min(segments.firstAfter(interval(this)[0]), last);
        const next = known === undefined ? first : known + 1;
        const previous = known === undefined ? first : known - 1;
        const target = { next, previous, first: 0, last }[command.to];
        this.select(number, Math.min(Math.max(target, 0), last));
        return true;
      }
      case "lane": {
        const next = this.lanes[number + command.step];
        if (next) {
          lane.group.setAttribute("tabindex", "-1");
          next.group.setAttribute("tabindex", "0");
          next.group.focus();
        }
        return true;
      }
      case "zoom":
        this.scaleBy(command.factor, known === undefined ? undefined : (segments.start(known) + segments.end(known)) / 2);
        return true;
      case "all":
        this.scaleBy(0);
        return true;
      case "gap":
        this.nextGap();
        return true;
      case "frame": {
        if (known === undefined) {
          return false;
        }
        const length = segments.end(known) - segments.start(known);
        this.show(segments.start(known) - length, segments.end(known) + length);
        return true;
      }
      case "hide":
        this.hide();
        return true;
    }
  }

  /** Makes a segment the one of the keyboard, in view. */
  private select(number: number, index: number): void {
    const lane = this.lanes[number];
    if (!lane || index < 0) {
      return;
    }
    this.focus = { lane: number, segment: index };
    const [start, end] = [lane.segments.start(index), lane.segments.end(index)];
    const [from, to] = interval(this);
    if (start < from || end > to) {
      const half = Math.max(to - from, 1.2 * (end - start)) / 2;
      this.show((start + end) / 2 - half, (start + end) / 2 + half);
    }
    this.point(number, index);
    this.announce(this.lines(lane, index).join(", "));
  }
}

/** The timeline of a step: a lane for each stream of each device, the gaps, and all of it at a glance. */

import { el } from "../../dom";
import { figure, type Figure } from "../../figure";
import type { Host } from "../../host";
import { swatch } from "../colours";
import type { Timeline } from "../schema";
import { View } from "./view";

export interface TimelineFigure extends Figure {
  /** Shows a part of the time. */
  show: (from: number, to: number) => void;
  /** Marks all executions of a kernel. */
  mark: (kernel: number | undefined) => void;
}

export function timeline(
  host: Host,
  data: Timeline,
  file: string,
  announce: (text: string) => void,
): TimelineFigure {
  const view = new View(data, announce);
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

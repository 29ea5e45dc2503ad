/** A chart in its frame: it is drawn again when its width changes, and can be saved as a picture. */

import { el, svg } from "./dom";
import type { Host } from "./host";

/** Draws into an SVG of so many pixels; the result is its height. */
export type Draw = (target: SVGSVGElement, width: number) => number;

export interface Options {
  title: string;
  /** What the chart shows, for a screen reader. */
  summary: string;
  file: string;
  note?: string;
  controls?: readonly HTMLElement[];
  legend?: HTMLElement;
}

export interface Figure {
  element: HTMLElement;
  redraw: () => void;
}

/** Figures that wait for their place in the page. */
const pending: { head: HTMLElement; fit: (width: number) => void }[] = [];

/** Draws the figures that are in the page now, so that it has its height. */
export function drawPlaced(): void {
  for (const { head, fit } of pending.splice(0)) {
    // The others are drawn when they are unfolded.
    if (!head.closest("details:not([open])")) {
      fit(Number.parseFloat(getComputedStyle(head).width) || 0);
    }
  }
}

export function figure(host: Host, options: Options, draw: Draw): Figure {
  const chart = svg("svg", { role: "group", "aria-label": options.summary, class: "chart" });
  const saves = (["SVG", "PNG"] as const).map((kind) =>
    el(
      "button",
      {
        class: "small",
        title: `Save as ${kind}`,
        "aria-label": `Save ${options.title} as ${kind}`,
        click: () => void savePicture(host, chart, options.file, kind),
      },
      kind,
    ),
  );
  const element = el(
    "section",
    { class: "card" },
    el(
      "div",
      { class: "card-head" },
      el("h3", {}, options.title),
      el("div", { class: "controls" }, ...(options.controls ?? []), ...saves),
    ),
    options.note !== undefined && el("p", { class: "note" }, options.note),
    chart,
    options.legend,
  );
  let width = 0;
  const redraw = (): void => {
    if (width > 0) {
      chart.replaceChildren();
      const height = draw(chart, width);
      chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
      chart.setAttribute("height", String(height));
    }
  };
  const fit = (room: number): void => {
    if (Math.floor(room) !== width) {
      width = Math.floor(room);
      redraw();
    }
  };
  const head = element.querySelector<HTMLElement>(".card-head") ?? element;
  pending.push({ head, fit });
  new ResizeObserver((entries) => {
    fit(entries[0]?.contentRect.width ?? 0);
  }).observe(head);
  return { element, redraw };
}

const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order",
]; // prettier-ignore

/** A copy of a chart whose elements carry the colours that they have in the page. */
function standalone(chart: SVGSVGElement): SVGSVGElement {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const from = [chart, ...chart.querySelectorAll<SVGElement>("*")];
  const to = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  from.forEach((element, index) => {
    const computed = getComputedStyle(element);
    const target = to[index];
    for (const name of STYLES) {
      target?.setAttribute(name, computed.getPropertyValue(name));
    }
    for (const name of ["class", "tabindex", "role", "style"]) {
      target?.removeAttribute(name);
    }
  });
  const { width, height } = chart.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const background = getComputedStyle(document.body).backgroundColor;
  copy.prepend(svg("rect", { width: "100%", height: "100%", fill: background }));
  return copy;
}

async function savePicture(host: Host, chart: SVGSVGElement, file: string, kind: "SVG" | "PNG"): Promise<void> {
  const text = new XMLSerializer().serializeToString(standalone(chart));
  const picture = new Blob([text], { type: "image/svg+xml" });
  if (kind === "SVG") {
    await host.save(`${file}.svg`, picture);
    return;
  }
  const { width, height } = chart.getBoundingClientRect();
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = el("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const png = await new Promise<Blob | null>((resolve) => {
    canvas.toBlob(resolve, "image/png");
  });
  if (png) {
    await host.save(`${file}.png`, png);
  }
}

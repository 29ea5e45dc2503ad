/** The table of all kernels of a page, from which one is chosen. */

import { bar, el } from "./dom";
import { Lines } from "./lines";
import type { File, Kernel } from "./schema";

export interface Place {
  file: File;
  kernel: Kernel;
  /** The number of the kernel in its file. */
  index: number;
}

/** All kernels of a page: in the order of the text of one file, else those that take longest first. */
export function placesOf(files: readonly File[]): Place[] {
  const places = files.flatMap((file) => file.kernels.map((kernel, index) => ({ file, kernel, index })));
  return files.length > 1 ? places.sort((one, other) => other.kernel.bar - one.kernel.bar) : places;
}

export function kernelTable(
  places: readonly Place[],
  files: number,
  chosen: Place | undefined,
  choose: (place: Place) => void,
): HTMLElement {
  const compares = places.some(({ kernel }) => !("failed" in kernel) && kernel.before);
  const rows = places.map((place) => {
    const { kernel, file } = place;
    const analysed = "failed" in kernel ? undefined : kernel;
    const tile = (name: string): string => analysed?.tiles.find(([other]) => other === name)?.[1] ?? "";
    const button = el("button", { class: "link", "aria-current": String(place === chosen) }, kernel.name);
    const row = el(
      "tr",
      { class: place === chosen ? "clickable chosen" : "clickable" },
      el("td", { class: "number" }, analysed?.time ?? ""),
      el("td", { class: "share" }, bar(kernel.bar)),
      compares && el("td", { class: `number ${analysed?.before?.trend ?? ""}` }, analysed?.before?.change ?? ""),
      el("th", { scope: "row", class: "kernel-name" }, button, el("span", { class: "quiet" }, `${files > 1 ? file.name : ""}:${new Lines(file.cells).short(kernel.line)}`)),
      "failed" in kernel
        ? el("td", { class: "failed", colspan: 3 }, kernel.failed)
        : el("td", {}, tile("bound")),
      analysed && el("td", { class: "number optional-1" }, tile("arithmetic")),
      analysed && el("td", { class: "number optional-1" }, tile("DRAM")),
    ); // prettier-ignore
    row.addEventListener("click", () => {
      choose(place);
    });
    return row;
  });
  const head = el(
    "tr",
    {},
    el("th", { scope: "col", class: "number" }, "time"),
    el("th", { scope: "col" }, "of the slowest"),
    compares && el("th", { scope: "col", class: "number" }, "change"),
    el("th", { scope: "col" }, "kernel"),
    el("th", { scope: "col" }, "bound"),
    el("th", { scope: "col", class: "number optional-1" }, "arithmetic"),
    el("th", { scope: "col", class: "number optional-1" }, "DRAM"),
  );
  return el(
    "section",
    { class: "card wide kernels" },
    el("div", { class: "card-head" }, el("h2", {}, `${places.length} kernels`)),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))),
  );
}

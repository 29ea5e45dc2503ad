/** The listing of a file, for a page without an editor. */

import { bar, el } from "./dom";
import type { File } from "./schema";

export function listing(file: File, isOpen: boolean): HTMLElement | null {
  if (!file.source) {
    return null;
  }
  const rows = file.source.map(([text, cost, share], index) => {
    const number = index + 1;
    return el(
      "tr",
      { id: `line-${number}`, tabindex: "-1" },
      el("td", { class: "share" }, share !== undefined && bar(share), el("span", { class: "share-text" }, cost ?? "")),
      el("td", { class: "number quiet" }, String(number)),
      el("td", { class: "code" }, text),
    );
  });
  const table = el("table", { "aria-label": `Source of ${file.name}` }, el("tbody", {}, ...rows));
  return el(
    "details",
    { class: "card wide listing", open: isOpen },
    el("summary", {}, el("h3", {}, `Source of ${file.name}`)),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Source of ${file.name}` }, table),
  );
}

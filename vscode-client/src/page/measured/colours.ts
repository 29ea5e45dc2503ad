/** The colours of categories, in a legend; what is idle is hatched, so that it is told without them. */

import { svg } from "../dom";

export function swatch(category: string): SVGSVGElement {
  return svg(
    "svg",
    { width: 14, height: 12, "aria-hidden": "true", class: "swatch" },
    category === "idle" && hatching(),
    svg("rect", { x: 0.5, y: 0.5, width: 13, height: 11, class: `segment cat-${category}` }),
  );
}

export function hatching(): SVGDefsElement {
  return svg(
    "defs",
    {},
    svg(
      "pattern",
      { id: "hatching", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("line", { x1: 0, x2: 0, y1: 0, y2: 5, class: "hatch" }),
    ),
  );
}

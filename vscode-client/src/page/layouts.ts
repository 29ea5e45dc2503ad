/** Shared arrays: the banks that the lanes of a warp touch, row by row and with a swizzle. */

import { el, svg } from "./dom";
import { figure, type Figure } from "./figure";
import type { Host } from "./host";
import type { Lines } from "./lines";
import type { Layout, Pattern } from "./schema";
import { cut } from "./text";

const BANKS = 32;
const TOP = 34;
const COUNT = 26;

interface Choice {
  layout: Layout;
  access: Layout["accesses"][number];
}

export function layouts(host: Host, data: readonly Layout[], file: string, names: Lines): Figure {
  const choices: Choice[] = data.flatMap((layout) => layout.accesses.map((access) => ({ layout, access })));
  const name = ({ layout, access }: Choice): string => `${layout.array}: ${access.mode}, ${place(access, names)}`;
  const remembered = choices.findIndex((choice) => name(choice) === host.state.access);
  const worst = choices.findIndex(({ access }) => access.before.conflicts);
  let chosen = Math.max(remembered < 0 ? worst : remembered, 0);
  const selected = (): Choice | undefined => choices[chosen];
  const note = el("p", { class: "note" });
  const picker = el(
    "select",
    {
      "aria-label": "Access to a shared array",
      change: () => {
        chosen = picker.selectedIndex;
        host.state = { ...host.state, access: picker.value };
        drawn.redraw();
      },
    },
    ...choices.map((choice, index) => el("option", { selected: index === chosen }, name(choice))),
  );
  const drawn = figure(
    host,
    {
      title: "Banks of shared memory",
      summary: choices.map(({ layout, access }) => `${layout.array} ${access.mode}: ${access.before.text}`).join("; "),
      file,
      controls: [picker],
      legend: note,
    },
    (target, width) => {
      const choice = selected();
      if (!choice) {
        return 0;
      }
      const { layout, access } = choice;
      note.textContent = `${layout.array}, ${layout.text}, is ${layout.state}. A request: ${access.request}. Boxes are lanes at their banks; two rows in one bank are a conflict.`;
      const beside = width >= 620 && access.after !== null;
      const room = beside ? (width - 24) / 2 : width;
      const first = pattern(access.before, room, `Row by row${layout.swizzled ? "" : " (as it is)"}`);
      target.append(first.element);
      let height = first.height;
      if (access.after) {
        const title = `Swizzle of ${layout.panel ?? 0} bytes${layout.swizzled ? " (as it is)" : ""}`;
        const second = pattern(access.after, room, title);
        const [x, y] = beside ? [room + 24, 0] : [0, height + 14];
        second.element.setAttribute("transform", `translate(${x} ${y})`);
        target.append(second.element);
        height = Math.max(height, y + second.height);
      }
      return height;
    },
  );
  return drawn;
}

function place(access: Choice["access"], names: Lines): string {
  return `${access.line === null ? "" : `${names.long(access.line)} `}${cut(access.label, 36)}`;
}

function pattern(data: Pattern, width: number, title: string): { element: SVGGElement; height: number } {
  const cell = (width - 2) / BANKS;
  const size = Math.min(cell, 16);
  const rows = Math.max(...data.cells.map(([row]) => row)) + 1;
  const bottom = TOP + rows * size;
  const group = svg(
    "g",
    { role: "img", "aria-label": `${title}: ${data.text}` },
    svg("text", { x: 0, y: 11, class: "label strong" }, title),
    svg("text", { x: BANKS * size, y: 11, "text-anchor": "end", class: data.conflicts ? "bad" : "good" }, data.text),
    svg("rect", { x: 0, y: TOP, width: BANKS * size, height: rows * size, class: "memory" }),
  );
  for (const bank of [0, 8, 16, 24, 31]) {
    group.append(svg("text", { x: (bank + 0.5) * size, y: TOP - 5, class: "tick", "text-anchor": "middle" }, String(bank)));
    if (bank % 8 === 0) {
      group.append(svg("line", { x1: bank * size, x2: bank * size, y1: TOP, y2: bottom, class: "grid" }));
    }
  }
  const counts = new Array<number>(BANKS).fill(0);
  for (const [, bank] of data.cells) {
    counts[bank] = (counts[bank] ?? 0) + 1;
  }
  for (const [row, first, length, lane] of runs(data)) {
    const conflict = (counts[first] ?? 0) > 1;
    const [x, y] = [first * size, TOP + row * size];
    group.append(
      svg("rect", { x: x + 0.5, y: y + 0.5, width: length * size - 1, height: size - 1, class: conflict ? "cell conflict" : "cell" }),
    );
    if (size >= 9 && length * size > 13) {
      group.append(svg("text", { x: x + (length * size) / 2, y: y + size / 2 + 3.5, class: "inside", "text-anchor": "middle" }, String(lane)));
    }
  }
  const most = Math.max(...counts);
  counts.forEach((count, bank) => {
    if (count) {
      const height = (count / Math.max(most, 4)) * COUNT;
      group.append(svg("rect", { x: bank * size + 1, y: bottom + 4, width: size - 2, height, class: count > 1 ? "count conflict" : "count" }));
    }
  });
  group.append(svg("text", { x: 0, y: bottom + COUNT + 16, class: "tick" }, `words in each bank: at most ${most}`));
  return { element: group, height: bottom + COUNT + 22 };
}

/** Neighbouring words of one lane as one box: row, first bank, words, lane. */
function runs(data: Pattern): [number, number, number, number][] {
  const found: [number, number, number, number][] = [];
  for (const [row, bank, lane] of data.cells) {
    const last = found.at(-1);
    if (last?.[0] === row && last[3] === lane && last[1] + last[2] === bank) {
      last[2] += 1;
    } else {
      found.push([row, bank, 1, lane]);
    }
  }
  return found;
}

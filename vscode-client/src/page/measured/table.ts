/** A table that can be sorted and filtered; of many rows some hundred are in the page at a time. */

import { bar, el } from "../dom";
import { swatch } from "./colours";
import type { Cell, Table } from "./schema";

const PIECE = 100;

interface Row {
  cells: Cell[];
  number: number;
  text: string;
}

export interface Options {
  /** Marks a kernel of the timeline, or none. */
  mark?: (kernel: number | undefined) => void;
  announce: (text: string) => void;
}

export function table(data: Table, options: Options): HTMLElement {
  const rows: Row[] = data.rows.map((cells, number) => ({
    cells,
    number,
    text: [...cells.filter((_, column) => data.columns[column]?.[1] === "text").map(textOf), data.details[number] ?? ""].join("\n").toLowerCase(),
  })); // prettier-ignore
  let visible = rows;
  let shown = PIECE;
  let sorted: { column: number; down: boolean } | undefined;
  let marked: number | undefined;
  const body = el("tbody");
  const count = el("span", { class: "quiet" });
  const more = el("button", { class: "small", click: () => { shown += 5 * PIECE; fill(); } }, "Show more"); // prettier-ignore

  const mark = (number: number): void => {
    marked = marked === number ? undefined : number;
    options.mark?.(marked);
    for (const button of body.querySelectorAll<HTMLElement>("button.link")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.number) === marked));
    }
  };

  const fill = (): void => {
    body.replaceChildren(...visible.slice(0, shown).flatMap((row) => [line(data, row, options.mark ? mark : undefined, marked), ...detail(data, row)]));
    more.hidden = visible.length <= shown;
    const listed = Math.min(shown, visible.length).toLocaleString("en");
    count.textContent = visible.length <= shown && visible.length === rows.length ? `${listed} rows` : `${listed} of ${visible.length.toLocaleString("en")} rows`;
  }; // prettier-ignore

  const filter = el("input", {
    type: "search",
    placeholder: "Filter",
    "aria-label": `Filter ${data.title}`,
    input: () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      visible = order(rows.filter(({ text }) => words.every((word) => text.includes(word))), sorted); // prettier-ignore
      shown = PIECE;
      fill();
      options.announce(`${visible.length} rows`);
    },
  });

  const heads = data.columns.map(([name, kind, about], column) => {
    const button = el(
      "button",
      {
        class: "sort",
        ...(about ? { title: about } : {}),
        click: () => {
          const down = sorted?.column === column ? !sorted.down : kind !== "text";
          sorted = { column, down };
          visible = order(visible, sorted);
          heads.forEach((head, index) => {
            head.setAttribute("aria-sort", index === column ? (down ? "descending" : "ascending") : "none");
          });
          fill();
        },
      },
      name,
    );
    return el("th", { scope: "col", "aria-sort": "none", class: classOf(data, column) }, button);
  });

  fill();
  return el(
    "section",
    { class: "card wide" },
    el(
      "div",
      { class: "card-head" },
      el("h2", { class: "small-title" }, data.title),
      el("div", { class: "controls" }, count, rows.length > 10 && filter),
    ),
    data.note !== "" && el("p", { class: "note" }, data.note),
    el(
      "div",
      { class: "scroll tall", tabindex: 0, role: "region", "aria-label": data.title },
      el("table", { class: "measured" }, el("thead", {}, el("tr", {}, ...heads)), body),
    ),
    more,
  );
}

function order(rows: readonly Row[], sorted: { column: number; down: boolean } | undefined): Row[] {
  const found = [...rows];
  if (!sorted) {
    return found;
  }
  const { column, down } = sorted;
  const sign = down ? -1 : 1;
  return found.sort((one, other) => {
    const [a, b] = [keyOf(one.cells[column]), keyOf(other.cells[column])];
    // What is not known comes last, in both directions.
    if (a === null || b === null) {
      return a === b ? one.number - other.number : a === null ? 1 : -1;
    }
    const difference = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }); // prettier-ignore
    return sign * difference || one.number - other.number;
  });
}

function keyOf(cell: Cell | undefined): string | number | null {
  return cell === undefined || cell === "" ? null : typeof cell === "string" ? cell : cell[1];
}

function textOf(cell: Cell | undefined): string {
  return cell === undefined ? "" : typeof cell === "string" ? cell : cell[0];
}

/** A narrow page leaves out the words behind the name, which has the colour of the category. */
function classOf(data: Table, column: number): string {
  const kind = data.columns[column]?.[1];
  return kind === "number" ? "number" : kind === "text" && column > 0 ? "optional-0" : "";
}

/** The row with the sentence below another one. */
function detail(data: Table, row: Row): HTMLTableRowElement[] {
  const text = data.details[row.number] ?? "";
  return text === "" ? [] : [el("tr", { class: "detail" }, el("td", { colspan: data.columns.length }, el("div", {}, text)))];
}

function line(
  data: Table,
  row: Row,
  mark: ((number: number) => void) | undefined,
  marked: number | undefined,
): HTMLTableRowElement {
  const category = data.categories[row.number];
  return el(
    "tr",
    {},
    ...data.columns.map(([, kind], column) => {
      const cell = row.cells[column];
      const text = textOf(cell);
      if (kind === "share") {
        const value = typeof cell === "string" || cell === undefined ? null : cell[1];
        return el("td", { class: "share" }, bar(value ?? 0), el("span", { class: "share-text" }, text));
      }
      if (column === 0 && kind === "text") {
        const names = [el("span", { class: "full" }, text), el("span", { class: "short" }, data.shorts[row.number] ?? text)];
        const name =
          mark && data.marks
            ? el(
                "button",
                {
                  class: "link",
                  title: `${text}: mark it in the timeline`,
                  "aria-label": text,
                  "aria-pressed": String(row.number === marked),
                  "data-number": row.number,
                  click: () => { mark(row.number); },
                },
                ...names,
              )
            : el("code", { title: text }, ...names); // prettier-ignore
        return el("th", { scope: "row", class: "name" }, el("div", {}, category !== undefined && swatch(category), name));
      }
      return el("td", { class: classOf(data, column) }, text);
    }),
  );
}

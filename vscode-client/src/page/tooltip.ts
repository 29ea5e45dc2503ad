/** One tooltip for all charts, beside the mark that the pointer or the keyboard is on. */

import { el } from "./dom";

const GAP = 10;

class Tooltip {
  private readonly box = el("div", { class: "tooltip", role: "tooltip", hidden: true });

  show(target: Element, lines: readonly string[]): void {
    const { box } = this;
    const [title = "", ...rest] = lines;
    box.replaceChildren(el("strong", {}, title), ...rest.map((line) => el("div", {}, line)));
    if (!box.isConnected) {
      document.body.append(box);
    }
    box.hidden = false;
    const mark = target.getBoundingClientRect();
    const size = box.getBoundingClientRect();
    const room = document.documentElement.clientWidth - size.width - GAP;
    const left = Math.min(Math.max(mark.left + mark.width / 2 - size.width / 2, GAP), Math.max(room, GAP));
    const above = mark.top - size.height - GAP;
    box.style.left = `${left}px`;
    box.style.top = `${above > 0 ? above : mark.bottom + GAP}px`;
  }

  hide(): void {
    this.box.hidden = true;
  }
}

export const tooltip = new Tooltip();

/** A mark of a chart: what it says, the line it is about, and whether it can be clicked. */
export interface Mark {
  element: SVGElement;
  lines: string[];
  activate?: () => void;
}

/**
 * Makes the marks of a chart reachable by pointer and keyboard: one of them is in the tab order, the
 * arrow keys go from one to the next, Enter activates.
 */
export function connect(marks: readonly Mark[]): void {
  marks.forEach((mark, index) => {
    const { element } = mark;
    element.setAttribute("tabindex", index === 0 ? "0" : "-1");
    element.setAttribute("role", mark.activate ? "button" : "img");
    element.setAttribute("aria-label", mark.lines.join(", "));
    element.classList.add("mark");
    const show = (): void => {
      tooltip.show(element, mark.lines);
    };
    const hide = (): void => {
      tooltip.hide();
    };
    element.addEventListener("pointerenter", show);
    element.addEventListener("pointerleave", hide);
    element.addEventListener("focus", show);
    element.addEventListener("blur", hide);
    if (mark.activate) {
      element.classList.add("clickable");
      element.addEventListener("click", mark.activate);
    }
    element.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (step !== undefined) {
        event.preventDefault();
        move(marks, index, step === 0 ? -index : step === Infinity ? marks.length - 1 - index : step);
      } else if ((event.key === "Enter" || event.key === " ") && mark.activate) {
        event.preventDefault();
        mark.activate();
      } else if (event.key === "Escape") {
        hide();
      }
    });
  });
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
  Home: 0,
  End: Infinity,
};

function move(marks: readonly Mark[], from: number, step: number): void {
  const target = marks[Math.min(Math.max(from + step, 0), marks.length - 1)];
  if (target) {
    marks[from]?.element.setAttribute("tabindex", "-1");
    target.element.setAttribute("tabindex", "0");
    target.element.focus();
  }
}

/** What a reader has made of a page: where it is scrolled to, what has the focus, what is open. */

const FOCUSABLE = "a[href], button, select, summary, [tabindex]";

interface Focus {
  identity: string;
  /** Its number among the elements with this identity. */
  index: number;
  isRow: boolean;
  /** Its number among the rows, for a row whose text has changed. */
  row: number;
}

export interface View {
  scroll: number;
  /** Of each part that scrolls by itself: how far to the right, how far down. */
  parts: [number, number][];
  /** The parts that can be folded, by their identities: whether they are open. */
  details: Map<string, boolean>;
  focus: Focus | undefined;
}

/** The view of the elements below `root`. */
export function viewOf(root: HTMLElement): View {
  return {
    scroll: window.scrollY,
    parts: scrollers(root).map(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]),
    details: new Map(all<HTMLDetailsElement>(root, "details").map((part) => [identity(part), part.open])),
    focus: focusIn(root),
  };
}

/** Opens the parts that were open. */
export function reopen(root: HTMLElement, view: View): void {
  for (const part of all<HTMLDetailsElement>(root, "details")) {
    part.open = view.details.get(identity(part)) ?? part.open;
  }
}

/** Restores the rest of a view as far as the elements below `root` allow, all of which are drawn. */
export function restore(root: HTMLElement, view: View): void {
  scrollers(root).forEach((part, index) => {
    const [left, top] = view.parts[index] ?? [0, 0];
    part.scrollTo(left, top);
  });
  window.scrollTo(0, view.scroll);
  // A panel without the focus must not take it from the editor.
  if (view.focus && document.hasFocus()) {
    find(root, view.focus)?.focus({ preventScroll: true });
  }
}

function focusIn(root: HTMLElement): Focus | undefined {
  const active = document.activeElement;
  if (!isFocusable(active) || active === root || !root.contains(active)) {
    return undefined;
  }
  const own = identity(active);
  const row = rows(root).indexOf(active);
  return { identity: own, index: sameAs(root, own).indexOf(active), isRow: row >= 0, row };
}

function find(root: HTMLElement, focus: Focus): HTMLElement | SVGElement | undefined {
  const same = sameAs(root, focus.identity);
  return same[focus.index] ?? same.at(-1) ?? (focus.isRow ? rows(root)[focus.row] : undefined);
}

function sameAs(root: HTMLElement, wanted: string): (HTMLElement | SVGElement)[] {
  return all<HTMLElement | SVGElement>(root, FOCUSABLE).filter((element) => identity(element) === wanted);
}

function rows(root: HTMLElement): (HTMLElement | SVGElement)[] {
  return all<HTMLElement>(root, "tr[data-key]");
}

function scrollers(root: HTMLElement): HTMLElement[] {
  return all<HTMLElement>(root, ".scroll");
}

function all<Kind extends Element = Element>(root: HTMLElement, selector: string): Kind[] {
  return [...root.querySelectorAll<Kind>(selector)];
}

function isFocusable(element: Element | null): element is HTMLElement | SVGElement {
  return element?.matches(FOCUSABLE) ?? false;
}

/** The part of the page that an element is in, its kind and what it is about; no figures. */
function identity(element: Element): string {
  const part = element.closest("section, header, details");
  const title = part?.querySelector("summary, h1, h2, h3")?.textContent ?? "";
  return [title, element.localName, element.getAttribute("data-key") ?? ""].join("\n");
}

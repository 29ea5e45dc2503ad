/** Elements without markup in strings: what the data says is text, whatever it contains. */

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | EventListener>;

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; attributes that are functions listen to the event of their name. */
export function el<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  return fill(document.createElement(name), attributes, children);
}

/** An SVG element. */
export function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Name] {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill<Target extends Element>(target: Target, attributes: Attributes, children: Child[]): Target {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      target.addEventListener(name, value);
    } else if (value !== undefined && value !== false) {
      target.setAttribute(name, value === true ? "" : String(value));
    }
  }
  target.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return target;
}

/** A length in the style of an element, which a content security policy allows a script to set. */
export function bar(share: number, name = "bar"): HTMLElement {
  const found = el("span", { class: name, "aria-hidden": "true" });
  found.style.width = `${100 * Math.min(Math.max(share, 0), 1)}%`;
  return found;
}

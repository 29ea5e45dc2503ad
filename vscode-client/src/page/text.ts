/** Text that has to fit. */

/** `text` with at most so many characters. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(length - 1, 1)).trimEnd()}…`;
}

/** A name for a file made of the words of a title. */
export function fileName(...parts: string[]): string {
  return parts.join("-").replaceAll(/[^\w.-]+/g, "-").replaceAll(/^-+|-+$/g, "").slice(0, 80) || "tirlens"; // prettier-ignore
}

/** What the keys do on a lane of the timeline. */

export type Command =
  /** Goes to another segment of the lane. */
  | { name: "segment"; to: "next" | "previous" | "first" | "last" }
  /** Goes to another lane. */
  | { name: "lane"; step: 1 | -1 }
  | { name: "zoom"; factor: number }
  | { name: "all" }
  | { name: "gap" }
  /** Shows the segment of the keyboard in the whole width. */
  | { name: "frame" }
  | { name: "hide" };

const IN: Command = { name: "zoom", factor: 2 };
const GAP: Command = { name: "gap" };
const COMMANDS = new Map<string, Command>([
  ["ArrowRight", { name: "segment", to: "next" }],
  ["ArrowLeft", { name: "segment", to: "previous" }],
  ["Home", { name: "segment", to: "first" }],
  ["End", { name: "segment", to: "last" }],
  ["ArrowDown", { name: "lane", step: 1 }],
  ["ArrowUp", { name: "lane", step: -1 }],
  ["+", IN],
  ["=", IN],
  ["-", { name: "zoom", factor: 1 / 2 }],
  ["0", { name: "all" }],
  ["g", GAP],
  ["G", GAP],
  ["Enter", { name: "frame" }],
  ["Escape", { name: "hide" }],
]);

/** The command of a key; none with a modifier, which is for others. */
export function commandOf({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): Command | undefined {
  return ctrlKey || metaKey || altKey ? undefined : COMMANDS.get(key);
}

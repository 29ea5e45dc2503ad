/**
 * The data of a report page, as the server writes it (`tirlens/ide/report_page`).
 *
 * Positions and lengths are fractions of a chart from 0 to 1, `y` upward; texts are ready to show.
 */

export const SCHEMA_VERSION = 1;

export interface Page {
  schema_version: number;
  title: string;
  generator: string;
  /** What an editor offers to choose, as ids and texts; empty in a page without a server. */
  devices: [string, string][];
  device: string;
  comparisons: [string, string][];
  comparison: string;
  files: File[];
  rooflines: { device: string; chart: Roofline }[];
}

export interface File {
  path: string;
  name: string;
  origin: string;
  stale: boolean;
  problems: [number, string][];
  /** Of a notebook: the number of each Python cell, and how many lines of the text are above it. */
  cells?: [number: number, above: number][];
  kernels: Kernel[];
  /** Each line of the text, with time and share where it has some. */
  source?: ([string] | [string, string, number])[];
}

export interface Kernel {
  name: string;
  line: number;
  device: string;
  verdict: string;
  time_s: number | null;
  bar: number;
  /** Why there are no figures; then all that follows is absent. */
  failed?: string;
  time: string;
  reason: string;
  tiles: [name: string, value: string, note: string][];
  before: Before | null;
  units: [name: string, share: number, text: string][];
  facts: [name: string, text: string][];
  /** What the cells of the rows are, from the server's table of figures. */
  columns: Column[];
  rows: Row[];
  waterfall: Waterfall | null;
  roofline: Roofline | null;
  advice: Advice[];
  notes: string[];
  /** Whether `timeline` and `layouts` are here. */
  detailed: boolean;
  timeline?: Timeline | null;
  layouts?: Layout[];
}

export interface Before {
  name: string;
  time: string;
  change?: string;
  trend?: "faster" | "slower" | "same";
  bars?: [now: number, before: number];
  cells: [name: string, now: string, before: string][];
}

export type Column = [name: string, kind: "number" | "text"];

export interface Row {
  depth: number;
  line: number | null;
  place: string;
  what: string;
  time: string;
  share: string;
  bar: number;
  /** A text for each of the kernel's columns. */
  cells: string[];
  change?: string;
}

export interface Waterfall {
  bars: {
    label: string;
    line: number | null;
    kind: "work" | "rest" | "launch" | "tail";
    start: number;
    length: number;
    time: string;
    share: string;
    bound: string;
  }[];
  total: string;
  ticks: Tick[];
  roofline: [number, string] | null;
}

export type Tick = [at: number, text: string];
export type Level = "dram" | "l2" | "shared";

export interface Roofline {
  x: { title: string; ticks: Tick[] };
  y: { title: string; ticks: Tick[] };
  bandwidths: {
    level: Level;
    name: string;
    text: string;
    line: [x1: number, y1: number, x2: number, y2: number];
  }[];
  peaks: { text: string; used: boolean; from: number; y: number }[];
  points: {
    label: string;
    line: number | null;
    kind: "kernel" | "loop" | "statement";
    share: string;
    rate: string;
    y: number;
    x: Partial<Record<Level, number>>;
    intensity: Partial<Record<Level, string>>;
  }[];
}

export interface Advice {
  rule: string;
  line: number | null;
  place: string;
  message: string;
  saving: string;
  share: string;
  bar: number;
  edit: { title: string; text: string } | null;
}

/** `kind` and both texts are indices; 0 is no line and no completion, -1 no iteration. */
export type Segment = [
  kind: number,
  start: number,
  end: number,
  text: number,
  duration: number,
  line: number,
  iteration: number,
  complete: number,
];

export interface Timeline {
  kinds: string[];
  texts: string[];
  lanes: { name: string; segments: Segment[] }[];
  gaps: Tick[];
  ticks: Tick[];
  title: string;
}

export interface Pattern {
  cells: [row: number, bank: number, lane: number][];
  text: string;
  conflicts: boolean;
}

export interface Layout {
  array: string;
  text: string;
  state: string;
  swizzled: boolean;
  panel: number | null;
  accesses: {
    label: string;
    line: number | null;
    mode: string;
    request: string;
    before: Pattern;
    after: Pattern | null;
  }[];
}

/** What the extension sends to the page. */
export type ToPage =
  | { type: "data"; data: Page }
  | { type: "empty"; message: string }
  | { type: "line"; line: number };

/** What the page asks of the extension. */
export type FromPage =
  | { type: "ready" }
  | { type: "reveal"; line: number }
  | { type: "apply"; rule: string; line: number }
  | { type: "device"; id: string }
  | { type: "compare"; id: string }
  | { type: "kernel"; index: number }
  | { type: "page" }
  | { type: "save"; name: string; base64: string };

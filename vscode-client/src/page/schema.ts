/**
 * The types of a report page's data. Written by `server/docs/site/page_schema.py` from
 * `tirlens/ide/report_page/chart_schema.py` and `tirlens/ide/report_page/schema.py`.
 *
 * Positions and lengths are fractions of a chart from 0 to 1, `y` upward; texts are ready to show.
 */

export const SCHEMA_VERSION = 1;

export type BarKind = "work" | "rest" | "launch" | "tail";

export type PointKind = "kernel" | "loop" | "statement";

export type Level = "dram" | "l2" | "shared";

/** A position of an axis with its text. */
export type Tick = [at: number, text: string];

/** A part of the kernel's time. */
export interface Bar {
  label: string;
  line: number | null;
  kind: BarKind;
  start: number;
  length: number;
  time: string;
  share: string;
  bound: string;
}

/**
 * The parts of the kernel's time one after the other.
 *
 * `limits` are the times of the roofline and of the fastest known structure, where there are any.
 */
export interface Waterfall {
  bars: Bar[];
  total: string;
  ticks: Tick[];
  limits: Tick[];
}

/** An axis of a chart. */
export interface Axis {
  title: string;
  ticks: Tick[];
}

/** The ends of the line of a bandwidth. */
export type Slope = [x1: number, y1: number, x2: number, y2: number];

/** The ceiling of a level of memory. */
export interface Bandwidth {
  level: Level;
  name: string;
  text: string;
  line: Slope;
}

/** The ceiling of an arithmetic type, which begins at `x`. */
export interface Peak {
  text: string;
  used: boolean;
  x: number;
  y: number;
}

/** A kernel or a part of it, at its intensity of each level. */
export interface Point {
  label: string;
  line: number | null;
  kind: PointKind;
  share: string;
  rate: string;
  y: number;
  x: Partial<Record<Level, number>>;
  intensity: Partial<Record<Level, string>>;
}

/** The roofline of a device with kernels in it. */
export interface Roofline {
  x: Axis;
  y: Axis;
  bandwidths: Bandwidth[];
  peaks: Peak[];
  points: Point[];
}

/**
 * A part of a lane.
 *
 * `kind`, `text` and `duration` are indices; 0 is no line and no completion, -1 no iteration.
 */
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

/** What one role or unit of a block does. */
export interface Lane {
  name: string;
  segments: Segment[];
}

/** The lanes of one block. */
export interface Timeline {
  kinds: string[];
  texts: string[];
  lanes: Lane[];
  gaps: Tick[];
  ticks: Tick[];
  title: string;
}

/** A word of shared memory and the lane that accesses it. */
export type BankCell = [row: number, bank: number, lane: number];

/** The banks that a warp accesses. */
export interface Pattern {
  cells: BankCell[];
  text: string;
  conflicts: boolean;
}

/** An access of a warp to a shared array, row by row and swizzled. */
export interface Access {
  label: string;
  line: number | null;
  mode: string;
  request: string;
  before: Pattern;
  after: Pattern | null;
}

/** A shared array; `panel` is the width of its swizzle in bytes. */
export interface Layout {
  array: string;
  text: string;
  state: string;
  swizzled: boolean;
  panel: number | null;
  accesses: Access[];
}

export type Trend = "faster" | "slower" | "same";

export type ColumnKind = "number" | "text";

/** What an editor offers to choose. */
export type Choice = [id: string, text: string];

/** What could not be read or analysed. */
export type Problem = [line: number, message: string];

/** A Python cell of a notebook: its number, and how many lines of the text are above it. */
export type Cell = [number: number, above: number];

/** A line of the text with its time, as a text and as a share of the kernel's. */
export type TimedLine = [text: string, time: string, share: number];

/** A line of the text that takes no time. */
export type Line = [text: string];

/** A figure at the top of a page; the note is empty where there is none. */
export type Tile = [name: string, value: string, note: string];

/** A figure now and in another version. */
export type Change = [name: string, now: string, before: string];

/** The times of two versions as parts of the longer one. */
export type Bars = [now: number, before: number];

/** A unit of the device, and the share of the time that it is busy. */
export type Unit = [name: string, share: number, text: string];

/** What is known of a kernel, as a sentence. */
export type Fact = [name: string, text: string];

/** A column of the tree of lines, from the server's table of figures. */
export type Column = [name: string, kind: ColumnKind];

/** Another version of a kernel; without `change` where a time is not known. */
export interface Before {
  name: string;
  time: string;
  cells: Change[];
  change?: string;
  trend?: Trend;
  bars?: Bars;
}

/** A line of a kernel; `cells` has a text for each of the kernel's columns. */
export interface Row {
  depth: number;
  line: number | null;
  place: string;
  what: string;
  time: string;
  share: string;
  bar: number;
  cells: string[];
  change?: string;
}

/** An edit that an editor can apply. */
export interface Edit {
  title: string;
  text: string;
}

/** An advice with the time that it saves. */
export interface Advice {
  rule: string;
  line: number | null;
  place: string;
  message: string;
  saving: string;
  share: string;
  bar: number;
  edit: Edit | null;
}

/** A kernel without figures; `failed` says why. */
export interface FailedKernel {
  name: string;
  line: number;
  device: string;
  verdict: string;
  time_s: number | null;
  bar: number;
  failed: string;
}

/** A kernel with its figures. */
export interface AnalysedKernel {
  name: string;
  line: number;
  device: string;
  verdict: string;
  time_s: number | null;
  /** The time as a part of that of the slowest kernel of the page. */
  bar: number;
  time: string;
  reason: string;
  tiles: Tile[];
  before: Before | null;
  units: Unit[];
  facts: Fact[];
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

export type Kernel = AnalysedKernel | FailedKernel;

/** A file with its kernels. */
export interface File {
  path: string;
  name: string;
  origin: string;
  stale: boolean;
  problems: Problem[];
  kernels: Kernel[];
  /** Those of a notebook. */
  cells?: Cell[];
  /** Each line of the text, for a page without an editor. */
  source?: (Line | TimedLine)[];
}

/** The kernels of a page on one device. */
export interface DeviceRoofline {
  device: string;
  chart: Roofline;
}

/** A report page; what can be chosen is empty in a page without a server. */
export interface Page {
  schema_version: number;
  title: string;
  generator: string;
  devices: Choice[];
  device: string;
  comparisons: Choice[];
  comparison: string;
  files: File[];
  rooflines: DeviceRoofline[];
}

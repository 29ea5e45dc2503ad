/**
 * The types of a measured page's data. Written by `server/docs/site/page_schema.py` from
 * `tirlens/ide/measured_page/schema.py`.
 *
 * Lengths are fractions from 0 to 1, and texts are ready to show; only the times of the timeline,
 * which can be zoomed, are numbers: whole nanoseconds.
 */

import type { Roofline, Tile } from "../schema";

export const SCHEMA_VERSION = 1;

export type Clock = "trace" | "order";

export type ColumnKind = "text" | "number" | "share";

/** The operations of a category together. */
export interface CategoryRow {
  category: string;
  executions: string;
  time: string;
  share: string;
  alone: string;
}

/** A part of a stacked bar. */
export interface Part {
  name: string;
  short: string;
  category: string;
  length: number;
  time: string;
  share: string;
  note: string;
}

/** A stacked bar; `width` is the length of the whole. */
export interface Stack {
  name: string;
  total: string;
  width: number;
  parts: Part[];
}

/** What an operation adds to a run, or saves; its length is from -1 to 1. */
export interface ChangeBar {
  name: string;
  short: string;
  category: string;
  length: number;
  text: string;
  note: string;
}

/** What operations add to a run, or save; `left_out` is the number of smaller ones. */
export interface Changes {
  total: string;
  left_out: number;
  bars: ChangeBar[];
}

/** A kernel of the timeline; its category is an index. */
export type Name = [name: string, category: number, short: string];

/** The operations of a stream. */
export interface Lane {
  name: string;
  /**
   * `delta, length, kernel` of each: `delta` is from the begin of the one before, `kernel` an
   * index of names, or -1 - n for several operations of which most are of category n.
   */
  segments: number[];
  /** How many operations the segments have whose `kernel` is negative. */
  counts: number[];
  operations: number;
}

/** A time in which a device executes nothing, and the kernels before and after it. */
export type Gap = [start: number, length: number, text: string, before: string, after: string, cause: string];

/** The lanes of a device. */
export interface DeviceLanes {
  name: string;
  idle: string;
  lanes: Lane[];
  gaps: Gap[];
}

/** The lanes of all devices. */
export interface Timeline {
  length: number;
  clock: Clock;
  names: Name[];
  categories: string[];
  devices: DeviceLanes[];
  /** The part of each category in the time of all devices, in equal parts of the step. */
  overview: number[][];
  note: string;
}

/** A column; `about` says what its figures are. */
export type Column = [name: string, kind: ColumnKind, about: string];

/** A text with the number that it is sorted by. */
export type NumberCell = [text: string, value: number | null];

export type Cell = string | NumberCell;

/** A table, which a reader sorts and filters. */
export interface Table {
  title: string;
  note: string;
  columns: Column[];
  rows: Cell[][];
  categories: string[];
  /** The first cells for a narrow page. */
  shorts: string[];
  /** The rows are the kernels of the timeline, in their order. */
  marks: boolean;
  /** A sentence below each row, empty for none; none at all for a table without. */
  details: string[];
}

/** The kernels whose FLOP and bytes are counted; no chart where there are none. */
export interface StepRoofline {
  device: string;
  chart: Roofline | null;
}

/** The page of a measured step, or of two runs. */
export interface MeasuredPage {
  schema_version: number;
  title: string;
  origin: string;
  generator: string;
  tiles: Tile[];
  categories: CategoryRow[];
  stacks: Stack[];
  changes: Changes | null;
  timeline: Timeline | null;
  roofline: StepRoofline | null;
  tables: Table[];
  notes: string[];
}

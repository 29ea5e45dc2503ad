/**
 * The data of the page of a measured step, as the server writes it (`tirlens/ide/measured_page`).
 *
 * Lengths are fractions from 0 to 1, and texts are ready to show; only the times of the timeline,
 * which can be zoomed, are numbers: whole nanoseconds.
 */

import type { Roofline } from "../schema";

export const SCHEMA_VERSION = 1;

export interface MeasuredPage {
  schema_version: number;
  title: string;
  origin: string;
  generator: string;
  tiles: [name: string, value: string, note: string][];
  categories: { category: string; executions: string; time: string; share: string; alone: string }[];
  stacks: Stack[];
  changes: Changes | null;
  timeline: Timeline | null;
  roofline: { device: string; chart: Roofline | null } | null;
  tables: Table[];
  notes: string[];
}

export interface Stack {
  name: string;
  total: string;
  /** The length of the whole bar. */
  width: number;
  parts: {
    name: string;
    short: string;
    category: string;
    length: number;
    time: string;
    share: string;
    note: string;
  }[];
}

/** What operations add to a run, or save. */
export interface Changes {
  total: string;
  /** How many smaller ones there are. */
  left_out: number;
  bars: {
    name: string;
    short: string;
    category: string;
    /** From -1 to 1. */
    length: number;
    text: string;
    note: string;
  }[];
}

export interface Timeline {
  length: number;
  clock: "trace" | "order";
  /** `category` is an index. */
  names: [name: string, category: number, short: string][];
  categories: string[];
  devices: {
    name: string;
    idle: string;
    lanes: Lane[];
    gaps: Gap[];
  }[];
  /** The part of each category in the time of all devices, in equal parts of the step. */
  overview: number[][];
  note: string;
}

export interface Lane {
  name: string;
  /**
   * `delta, length, kernel` of each segment: `delta` from the begin of the one before, `kernel` an
   * index of names, or -1 - n for several operations of which most are of category n.
   */
  segments: number[];
  /** How many operations the segments have whose `kernel` is negative. */
  counts: number[];
  operations: number;
}

export type Gap = [start: number, length: number, text: string, before: string, after: string, cause: string];

export interface Table {
  title: string;
  note: string;
  columns: [name: string, kind: "text" | "number" | "share", about: string][];
  rows: Cell[][];
  categories: string[];
  /** The first cells for a narrow page. */
  shorts: string[];
  /** The rows are the kernels of the timeline, in their order. */
  marks: boolean;
  /** A sentence below each row, empty for none; none at all for a table without. */
  details: string[];
}

/** A text, with what it is sorted by. */
export type Cell = string | [text: string, value: number | null];

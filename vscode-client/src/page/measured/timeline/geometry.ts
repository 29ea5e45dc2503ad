/** Sizes of the timeline in pixels, and the part of the time that is in view. */

import type { ScaleLinear } from "d3-scale";

export const OVERVIEW = 44;
export const TOP = OVERVIEW + 26;
export const LANE = 26;
export const HEIGHT = 20;
export const DEVICE = 22;
export const GAPS = 14;
/** Above the lanes of a narrow figure, the name of each. */
export const NAME = 13;
export const CHARACTER = 6.4;

/** From nanoseconds to pixels. */
export type Scale = ScaleLinear<number, number>;

/** Where lanes are drawn: from `left` to `width`, the time that `x` has. */
export interface Plot {
  readonly left: number;
  readonly width: number;
  readonly x: Scale;
}

/** The first and the last nanosecond in view. */
export function interval({ x }: Plot): [number, number] {
  const [from = 0, to = 0] = x.domain();
  return [from, to];
}

export function round(value: number): number {
  return Math.round(100 * value) / 100;
}

/** The segments of a lane: those in a part of the time, and what is too short for its own mark. */

import type { Lane, Timeline } from "../schema";

export interface Segment {
  start: number;
  end: number;
  /** The name, the category, and how many operations it is. */
  name: string;
  short: string;
  category: number;
  /** The index of its kernel; -1 for several operations. */
  kernel: number;
  count: number;
}

export class Segments {
  readonly count: number;
  private readonly starts: Float64Array;
  private readonly ends: Float64Array;
  private readonly kernels: Int32Array;
  private readonly counts: Int32Array;
  /** The latest end of all segments up to each. */
  private readonly reached: Float64Array;

  constructor(
    lane: Lane,
    private readonly data: Timeline,
  ) {
    const { segments, counts } = lane;
    this.count = segments.length / 3;
    this.starts = new Float64Array(this.count);
    this.ends = new Float64Array(this.count);
    this.kernels = new Int32Array(this.count);
    this.counts = new Int32Array(this.count).fill(1);
    this.reached = new Float64Array(this.count);
    let at = 0;
    let several = 0;
    let reached = 0;
    for (let index = 0; index < this.count; index++) {
      at += segments[3 * index] ?? 0;
      const kernel = segments[3 * index + 2] ?? -1;
      const end = at + (segments[3 * index + 1] ?? 0);
      this.starts[index] = at;
      this.ends[index] = end;
      this.kernels[index] = kernel;
      if (kernel < 0) {
        this.counts[index] = counts[several++] ?? 1;
      }
      reached = Math.max(reached, end);
      this.reached[index] = reached;
    }
  }

  start(index: number): number {
    return this.starts[index] ?? 0;
  }

  end(index: number): number {
    return this.ends[index] ?? 0;
  }

  kernel(index: number): number {
    const kernel = this.kernels[index] ?? -1;
    return kernel < 0 ? -1 : kernel;
  }

  category(index: number): number {
    const kernel = this.kernels[index] ?? -1;
    return kernel < 0 ? -1 - kernel : (this.data.names[kernel]?.[1] ?? 0);
  }

  get(index: number): Segment {
    const kernel = this.kernel(index);
    const category = this.category(index);
    const count = this.counts[index] ?? 1;
    const [name, , short] = this.data.names[kernel] ?? [];
    const several = `${count.toLocaleString("en")} operations, mostly ${this.data.categories[category] ?? "other"}`;
    const alone = this.data.categories[category] ?? "other";
    return {
      start: this.start(index),
      end: this.end(index),
      name: name ?? (count > 1 ? several : alone),
      short: short ?? (count > 1 ? `${count.toLocaleString("en")} operations` : alone),
      category,
      kernel,
      count,
    };
  }

  /** The first segment that ends after a time. */
  firstAfter(time: number): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.reached[middle] ?? 0) > time) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /** The segment at a time, or the nearest that is at most so far away; the shortest of several. */
  at(time: number, reach: number): number | undefined {
    let found: number | undefined;
    let nearest = reach;
    let length = Infinity;
    for (let index = this.firstAfter(time - reach); index < this.count && this.start(index) <= time + reach; index++) {
      const away = Math.max(this.start(index) - time, time - this.end(index), 0);
      const own = this.end(index) - this.start(index);
      if (away < nearest || (away === nearest && own < length)) {
        [found, nearest, length] = [index, away, own];
      }
    }
    return found;
  }
}

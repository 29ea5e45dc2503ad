/** Times on the axis of the timeline, which is zoomed in the page: the only numbers that it formats. */

const UNITS: readonly [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
  [1, "ns"],
];

/** Round times from `from` to `to` nanoseconds, at most about `count`, with their texts. */
export function ticks(from: number, to: number, count: number): [number, string][] {
  const raw = Math.max((to - from) / Math.max(count, 1), 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw) ?? raw;
  const [size, unit] = unitOf(Math.max(Math.abs(to), step));
  const digits = Math.max(Math.ceil(Math.log10(size / step) - 1e-9), 0);
  const found: [number, string][] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    found.push([at, `${(at / size).toFixed(digits)} ${unit}`]);
  }
  return found;
}

/** A time with three digits: `12.3 us`. */
export function time(nanoseconds: number): string {
  const [size, unit] = unitOf(Math.abs(nanoseconds));
  return `${Number((nanoseconds / size).toPrecision(3))} ${unit}`;
}

function unitOf(nanoseconds: number): readonly [number, string] {
  return UNITS.find(([size]) => nanoseconds >= size) ?? [1, "ns"];
}

/** What is made of a kernel, as texts whose lines are linked: to the source, and to each other. */

import type { GeneratedKernel } from "./protocol";

export const LANGUAGES = {
  cuda: { label: "CUDA source", extension: "cu", comment: "//" },
  tir: { label: "lowered IR", extension: "tir.py", comment: "#" },
  sass: { label: "machine code", extension: "nvsass", comment: "//" },
} as const;

export type LanguageId = keyof typeof LANGUAGES;

/** A text for display: for each of its lines the line of the source and of the CUDA source, 0 for none. */
export interface LinkedText {
  language: LanguageId;
  text: string;
  lines: number[];
  cudaLines: number[];
}

/** The text of a language below a line that says what it is of, and `remark`. */
export function linkedText(kernel: GeneratedKernel, language: LanguageId, remark = ""): LinkedText | undefined {
  const found = kernel.texts[language];
  if (!found) {
    return undefined;
  }
  const header = [`${kernel.call || kernel.kernel} for ${kernel.arch}`, remark].filter((part) => part !== "");
  const { comment } = LANGUAGES[language];
  const own = found.lines.map((_, index) => index + 1);
  // The header is above the CUDA source, too.
  const cuda = (language === "cuda" ? own : found.cuda_lines ?? []).map((line) => (line ? line + 1 : 0));
  return {
    language,
    text: `${comment} ${header.join(": ")}\n${found.text}`,
    lines: [0, ...found.lines],
    cudaLines: [0, ...cuda],
  };
}

/** What stands in the place of machine code that there is not. */
export function withoutText(reason: string): LinkedText {
  return { language: "sass", text: `// no machine code: ${reason}\n`, lines: [0], cudaLines: [0] };
}

/** What ptxas says of the kernel; empty where it was not compiled. */
export function resources(kernel: GeneratedKernel): string {
  if (kernel.registers_per_thread === null) {
    return "";
  }
  const spills = kernel.spill_bytes ? `${kernel.spill_bytes} bytes spilled` : "no spills";
  return `${kernel.registers_per_thread} registers a thread, ${spills} (ptxas)`;
}

/** The 1-based lines of a text that belong to a line of the source. */
export function linesOf({ lines }: LinkedText, source: number): number[] {
  return source ? linesWith(lines, source) : [];
}

/**
 * The 1-based lines of `other` that belong to the 1-based `line` of `text`, made of the same kernel:
 * by the CUDA source, which is the more exact, where both are made of it, else by the source.
 */
export function linesAcross(text: LinkedText, line: number, other: LinkedText): number[] {
  const cuda = text.cudaLines[line - 1] ?? 0;
  const found = cuda ? linesWith(other.cudaLines, cuda) : [];
  return found.length > 0 ? found : linesOf(other, text.lines[line - 1] ?? 0);
}

function linesWith(lines: readonly number[], wanted: number): number[] {
  return lines.flatMap((line, index) => (line === wanted ? [index + 1] : []));
}

/** Those of the lines to bring into sight: instructions rather than rows of the table above them. */
export function linesToShow({ language, cudaLines }: LinkedText, lines: readonly number[]): readonly number[] {
  const instructions = language === "sass" ? lines.filter((line) => cudaLines[line - 1]) : [];
  return instructions.length > 0 ? instructions : lines;
}

/** Lines as the page names them: in a notebook they are those of a cell. */

import type { File } from "./schema";

export class Lines {
  /** @param cells the number of each Python cell, and how many lines of the text are above it */
  constructor(private readonly cells: NonNullable<File["cells"]> = []) {}

  /** `12`, or `cell 3:12`. */
  short(line: number): string {
    const [cell, own] = this.split(line);
    return cell === undefined ? String(own) : `cell ${cell}:${own}`;
  }

  /** `line 12`, or `cell 3, line 12`. */
  long(line: number): string {
    const [cell, own] = this.split(line);
    return cell === undefined ? `line ${own}` : `cell ${cell}, line ${own}`;
  }

  private split(line: number): [cell: number | undefined, line: number] {
    const [cell, above] = this.cells.findLast(([, lines]) => lines < line) ?? [undefined, 0];
    return [cell, line - above];
  }
}

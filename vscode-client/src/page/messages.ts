/** What the extension and its report page send to each other. */

import type { Page } from "./schema";

/** What the extension sends to the page. */
export type ToPage =
  | { type: "data"; data: Page }
  | { type: "empty"; message: string }
  | { type: "line"; line: number };

/** What the page asks of the extension. */
export type FromPage =
  | { type: "ready" }
  | { type: "pressed" }
  | { type: "reveal"; line: number }
  | { type: "apply"; rule: string; line: number }
  | { type: "device"; id: string }
  | { type: "compare"; id: string }
  | { type: "kernel"; index: number }
  | { type: "page" }
  | { type: "save"; name: string; base64: string };

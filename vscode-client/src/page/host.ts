/** Where the page is: in an editor's panel, or alone in a browser. */

import type { FromPage } from "./messages";

export interface Host {
  /** Whether an editor can show lines and write advice. */
  readonly isEditor: boolean;
  reveal(line: number): void;
  send(message: FromPage): void;
  save(name: string, content: Blob): Promise<void>;
  /** What the page remembers of itself when it is loaded again. */
  state: State;
}

export interface State {
  kernel?: string;
  level?: string;
  /** The access whose banks are displayed. */
  access?: string;
  /** The rows that are folded, by kernel. */
  folded?: Record<string, string[]>;
}

interface VsCode {
  postMessage(message: FromPage): void;
  getState(): State | undefined;
  setState(state: State): void;
}

declare function acquireVsCodeApi(): VsCode;

/** The host of this page. */
export function findHost(): Host {
  return typeof acquireVsCodeApi === "function" ? new Editor(acquireVsCodeApi()) : new Browser();
}

class Editor implements Host {
  readonly isEditor = true;

  constructor(private readonly api: VsCode) {}

  get state(): State {
    return this.api.getState() ?? {};
  }

  set state(state: State) {
    this.api.setState(state);
  }

  reveal(line: number): void {
    this.send({ type: "reveal", line });
  }

  send(message: FromPage): void {
    this.api.postMessage(message);
  }

  async save(name: string, content: Blob): Promise<void> {
    const bytes = new Uint8Array(await content.arrayBuffer());
    let binary = "";
    for (const byte of bytes) {
      binary += String.fromCharCode(byte);
    }
    this.send({ type: "save", name, base64: btoa(binary) });
  }
}

class Browser implements Host {
  readonly isEditor = false;
  state: State = {};

  /** Opens the listing of the source at a line. */
  reveal(line: number): void {
    const target = document.getElementById(`line-${line}`);
    const listing = target?.closest("details");
    if (target && listing) {
      listing.open = true;
      target.scrollIntoView({ block: "center" });
      target.focus({ preventScroll: true });
    }
  }

  send(): void {
    // A page without a server offers nothing that would have to be asked.
  }

  save(name: string, content: Blob): Promise<void> {
    const address = URL.createObjectURL(content);
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => {
      URL.revokeObjectURL(address);
    }, 1000);
    return Promise.resolve();
  }
}

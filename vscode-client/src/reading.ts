import {
  commands,
  DecorationRangeBehavior,
  OverviewRulerLane,
  Position,
  Range,
  Uri,
  window,
  type Disposable,
  type QuickPickItem,
  type TextEditor,
} from "vscode";
import { goTo } from "./cells";
import { OWN_COMMANDS, type Server } from "./client";
import { log, reason } from "./log";
import { SERVER, type HotLine, type Shown } from "./protocol";

const SHOWN: Record<Shown, string> = {
  all: "lenses and hints of all kernels",
  hottest: "all lenses, and hints of the hottest lines only",
  marked: "kernels marked by # tirlens: on",
  off: "no lenses and no hints",
};
const NOTICE_MS = 4000;
/** From this share of a kernel's time on, a line has this colour. */
const HEAT = [
  [0.3, "#e5484d"],
  [0.1, "#f5a524"],
  [0.03, "#e8d44d"],
  [0, "#8a8f98"],
] as const;

/** What is displayed in the text, and what it is compared with, as the reader chooses. */
export class Reading implements Disposable {
  private readonly decorations = HEAT.map(([, colour]) =>
    window.createTextEditorDecorationType({
      gutterIconPath: bar(colour),
      gutterIconSize: "contain",
      overviewRulerColor: colour,
      overviewRulerLane: OverviewRulerLane.Left,
      rangeBehavior: DecorationRangeBehavior.ClosedClosed,
    }),
  );
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      ...this.decorations,
      server.onStatus((status) => {
        if (status.state !== "analyzing") {
          void this.markAll();
        }
      }),
      server.onDidChangeFigures(() => void this.markAll()),
      window.onDidChangeVisibleTextEditors(() => void this.markAll()),
      this.register("tirlens.toggle", () => this.toggle()),
      this.register("tirlens.goToHottestLine", () => this.goToHottestLine()),
      this.register("tirlens.pinBaseline", () => this.pinBaseline()),
      this.register("tirlens.clearBaseline", () => this.clearBaseline()),
    ];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  private register(name: string, action: () => Promise<void>): Disposable {
    OWN_COMMANDS.add(name);
    return commands.registerCommand(name, () =>
      action().catch((error: unknown) => {
        log.error(`${name}: ${reason(error)}`);
        void window.showErrorMessage(`TIRLens: ${reason(error)}`);
      }),
    );
  }

  private async toggle(): Promise<void> {
    const shown = await this.server.run<Shown>(SERVER.show, null);
    if (shown !== undefined) {
      say(SHOWN[shown]);
      await this.markAll();
    }
  }

  private async goToHottestLine(): Promise<void> {
    const editor = window.activeTextEditor;
    if (!editor) {
      return;
    }
    const line = editor.selection.active.line;
    const found = await this.server.run<HotLine | null>(SERVER.hottestLine, uriOf(editor), line);
    if (!found) {
      say("nothing is known of this file yet");
      return;
    }
    await goTo(Uri.parse(found.uri), new Position(found.line, found.character), editor.viewColumn);
    say(`${Math.round(100 * found.share)}% of ${found.kernel}`);
  }

  private async pinBaseline(): Promise<void> {
    const editor = window.activeTextEditor;
    if (!editor) {
      return;
    }
    const saved = { label: "The saved file", description: "as it is now", revision: null };
    const other = { label: "Another revision...", revision: "" };
    const items: (QuickPickItem & { revision: string | null })[] = [
      saved,
      { label: "HEAD", description: "the last commit, for all files", revision: "HEAD" },
      { label: "origin/main...", description: "where this branch left main", revision: "origin/main..." },
      other,
    ];
    const title = "TIRLens: compare kernels with which version?";
    const chosen = await window.showQuickPick(items, { title });
    if (!chosen) {
      return;
    }
    const revision =
      chosen === other ? await window.showInputBox({ title, placeHolder: "v1.0" }) : chosen.revision;
    if (revision === undefined || revision === "") {
      return;
    }
    const name = await this.server.run<string | null>(SERVER.pinBaseline, uriOf(editor), revision);
    say(name ? `kernels are compared with ${name}` : "nothing is known of this file yet");
  }

  private async clearBaseline(): Promise<void> {
    const editor = window.activeTextEditor;
    if (editor) {
      await this.server.run(SERVER.clearBaseline, uriOf(editor));
      say("kernels are compared with the last save only");
    }
  }

  private async markAll(): Promise<void> {
    await Promise.all(window.visibleTextEditors.map((editor) => this.mark(editor)));
  }

  /** Marks the lines of an editor by their share of the time; the settings may ask for none. */
  private async mark(editor: TextEditor): Promise<void> {
    if (editor.document.languageId !== "python") {
      return;
    }
    const lines = (await this.server.run<HotLine[]>(SERVER.heat, uriOf(editor))) ?? [];
    this.decorations.forEach((decoration, level) => {
      const own = lines.filter(({ share }) => HEAT.findIndex(([least]) => share >= least) === level);
      editor.setDecorations(
        decoration,
        own.map(({ line }) => new Range(line, 0, line, 0)),
      );
    });
  }
}

function uriOf(editor: TextEditor): string {
  return editor.document.uri.toString();
}

function say(message: string): void {
  window.setStatusBarMessage(`TIRLens: ${message}`, NOTICE_MS);
}

function bar(colour: string): Uri {
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><rect x="10" width="4" height="16" rx="1" fill="${colour}"/></svg>`;
  return Uri.parse(`data:image/svg+xml;utf8,${encodeURIComponent(picture)}`);
}

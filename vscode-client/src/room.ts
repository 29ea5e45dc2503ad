import {
  commands,
  window,
  workspace,
  type Disposable,
  type TextDocument,
  type TextEditor,
} from "vscode";
import { CELL } from "./cells";
import { mentionsFramework, type Server } from "./client";
import { log, reason } from "./log";
import { SERVER } from "./protocol";
import { columnWidths, roomOf, type EditorLayout, type Room } from "./width";

const DELAY_MS = 150;

/**
 * How wide the editors of kernels are that stand beside others, such as the report: hints and lenses
 * end before the minimap and the scroll bar. VS Code says the width of groups that stand side by side,
 * not that of one alone, and reports no change of it: it is looked at after what comes with a change,
 * such as another editor, a scroll, a move of the cursor.
 */
export class EditorRoom implements Disposable {
  private readonly sent = new Map<string, Room | undefined>();
  private timer: NodeJS.Timeout | undefined;
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly server: Server) {
    const look = (): void => {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.measure().catch((error: unknown) => {
          log.error(`The width of the editors is not known: ${reason(error)}`);
        });
      }, DELAY_MS);
    };
    this.subscriptions = [
      server.onDidChangeCondition(() => {
        // A server that starts again knows nothing.
        this.sent.clear();
        look();
      }),
      server.onStatus(look),
      window.onDidChangeVisibleTextEditors(look),
      window.onDidChangeTextEditorVisibleRanges(look),
      window.onDidChangeTextEditorSelection(look),
      window.onDidChangeWindowState(look),
      window.tabGroups.onDidChangeTabGroups(look),
      workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("editor")) {
          look();
        }
      }),
      workspace.onDidCloseTextDocument(({ uri }) => {
        this.sent.delete(uri.toString());
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  private async measure(): Promise<void> {
    const editors = window.visibleTextEditors.filter(({ document }) => hasRoom(document));
    if (this.server.condition.kind !== "running" || editors.length === 0) {
      return;
    }
    const layout = await commands.executeCommand<EditorLayout | undefined>("vscode.getEditorLayout");
    const widths = layout ? columnWidths(layout) : [];
    const rooms = new Map<string, Room | undefined>();
    for (const editor of editors) {
      const width = widths[(editor.viewColumn ?? 0) - 1];
      const uri = editor.document.uri.toString();
      const room = width === undefined ? undefined : roomOf(width, appearance(editor));
      const known = rooms.get(uri);
      rooms.set(uri, known && (!room || known.columns < room.columns) ? known : room);
    }
    for (const [uri, room] of rooms) {
      if (this.sent.get(uri)?.columns !== room?.columns) {
        this.sent.set(uri, room);
        await this.server.run(SERVER.setRoom, uri, room?.columns ?? null, room?.lensCharacters ?? null);
      }
    }
  }
}

/** Whether the width of an editor is that of its group; a notebook's cells are narrower. */
function hasRoom(document: TextDocument): boolean {
  return document.uri.scheme !== CELL && mentionsFramework(document);
}

function appearance(editor: TextEditor): Parameters<typeof roomOf>[1] {
  const settings = workspace.getConfiguration("editor", editor.document);
  return {
    fontSize: settings.get("fontSize", 14),
    lensFontSize: settings.get("codeLensFontSize", 0),
    letterSpacing: settings.get("letterSpacing", 0),
    lines: editor.document.lineCount,
    hasGlyphMargin: settings.get("glyphMargin", true),
    hasFolding: settings.get("folding", true),
    hasLineNumbers: settings.get<string>("lineNumbers", "on") !== "off",
    minimapColumns:
      settings.get<boolean>("minimap.enabled", true) && settings.get<string>("minimap.autohide", "none") === "none"
        ? settings.get("minimap.maxColumn", 120)
        : 0,
    scrollbar: settings.get("scrollbar.verticalScrollbarSize", 14),
  };
}

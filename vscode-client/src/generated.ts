import { basename } from "node:path";
import {
  EventEmitter,
  OverviewRulerLane,
  ProgressLocation,
  Range,
  TextEditorRevealType,
  TextEditorSelectionChangeKind,
  ThemeColor,
  Uri,
  ViewColumn,
  window,
  workspace,
  type Disposable,
  type TextDocumentContentProvider,
  type TextEditor,
} from "vscode";
import { editorsOf, place, serverLine, uriOf } from "./cells";
import type { Server } from "./client";
import { SERVER, type GeneratedCode, type GeneratedKernel } from "./protocol";

const SCHEME = "tirlens-code";

const LANGUAGES = [
  { id: "cuda", label: "CUDA source", extension: "cu", comment: "//" },
  { id: "tir", label: "Lowered IR", extension: "tir.py", comment: "#" },
] as const;

type Language = (typeof LANGUAGES)[number];

/** A text beside its source: `lines` has the source's line of each of its lines, 0 for none. */
interface Shown {
  source: string;
  kernel: string;
  language: Language;
  text: string;
  lines: number[];
}

/** The code that the framework makes of kernels, as read-only documents linked to the source. */
export class GeneratedTexts implements Disposable, TextDocumentContentProvider {
  private readonly shown = new Map<string, Shown>();
  private readonly changed = new EventEmitter<Uri>();
  readonly onDidChange = this.changed.event;
  private readonly linked = window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new ThemeColor("editor.rangeHighlightBackground"),
    overviewRulerColor: new ThemeColor("editorOverviewRuler.rangeHighlightForeground"),
    overviewRulerLane: OverviewRulerLane.Center,
  });
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      this.changed,
      this.linked,
      workspace.registerTextDocumentContentProvider(SCHEME, this),
      workspace.onDidCloseTextDocument(({ uri }) => this.shown.delete(uri.toString())),
      window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
        // What this extension selects must not answer itself.
        if (kind !== TextEditorSelectionChangeKind.Command) {
          this.link(textEditor);
        }
      }),
      server.onStatus((status) => {
        if (status.state === "ready" && status.uri !== null) {
          void this.refresh(status.uri);
        }
      }),
    ];
  }

  provideTextDocumentContent(uri: Uri): string {
    return this.shown.get(uri.toString())?.text ?? "";
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  /** Asks for a language and shows the code of the kernel at the cursor, or of the named one. */
  async show(source: string, kernel?: string): Promise<void> {
    const items = LANGUAGES.map((language) => ({ label: language.label, language }));
    const chosen = await window.showQuickPick(items, { title: "TIRLens: generated code" });
    if (!chosen) {
      return;
    }
    const { language } = chosen;
    const target = kernel ?? lineOf(source);
    const title = `TIRLens: generating the ${language.label} of ${basename(Uri.parse(source).path)}`;
    const options = { location: ProgressLocation.Notification, title };
    const answer = await window.withProgress(options, () => this.generate(source, target, language));
    const found = answer?.kernels[0];
    const text = found?.texts[language.id];
    if (!found || !text) {
      const reason = found?.error ?? answer?.problems[0] ?? "the file is not analysed yet";
      throw new Error(`no ${language.label}: ${reason}`);
    }
    const uri = Uri.from({
      scheme: SCHEME,
      path: `/${basename(Uri.parse(source).path).replace(/\.(py|ipynb)$/, "")}.${found.kernel}.${language.extension}`,
      query: source,
    });
    this.shown.set(uri.toString(), withHeader(source, found, language));
    this.changed.fire(uri);
    const document = await workspace.openTextDocument(uri);
    await window.showTextDocument(document, {
      viewColumn: ViewColumn.Beside,
      preserveFocus: true,
      preview: false,
    });
    const editor = editorsOf(source)[0];
    if (editor) {
      this.link(editor);
    }
  }

  private generate(
    source: string,
    target: string | number | null,
    { id }: Language,
  ): Promise<GeneratedCode | null | undefined> {
    return this.server.run<GeneratedCode | null>(SERVER.generatedCode, source, target, id);
  }

  /** Generates again what is open of a source that was analysed. */
  private async refresh(source: string): Promise<void> {
    for (const [uri, { source: own, kernel, language }] of [...this.shown]) {
      if (own !== source) {
        continue;
      }
      const answer = await this.generate(source, kernel, language);
      const found = answer?.kernels[0];
      if (found?.texts[language.id] && this.shown.has(uri)) {
        this.shown.set(uri, withHeader(source, found, language));
        this.changed.fire(Uri.parse(uri));
      }
    }
  }

  /** Marks the lines that belong to the selected one, in the text and in what is made of it. */
  private link(editor: TextEditor): void {
    const uri = uriOf(editor.document);
    const line = serverLine(editor.document, editor.selection.active.line + 1);
    const own = this.shown.get(uri);
    if (own) {
      const source = own.lines[line - 1] ?? 0;
      this.mark(editor, linesOf(own, source), false);
      const target = source ? place(own.source, source) : undefined;
      for (const other of editorsOf(own.source)) {
        const isTarget = target?.uri.toString() === other.document.uri.toString();
        this.mark(other, isTarget ? [target.line] : [], true);
      }
      return;
    }
    const texts = [...this.shown].filter(([, { source }]) => source === uri);
    for (const [generated, text] of texts) {
      for (const other of editorsOf(generated)) {
        this.mark(other, linesOf(text, line), true);
      }
    }
    if (texts.length > 0) {
      const isLinked = texts.some(([, text]) => text.lines.includes(line));
      this.mark(editor, isLinked ? [editor.selection.active.line + 1] : [], false);
    }
  }

  private mark(editor: TextEditor, lines: readonly number[], reveals: boolean): void {
    const ranges = lines.map((line) => new Range(line - 1, 0, line - 1, 0));
    editor.setDecorations(this.linked, ranges);
    const first = ranges[0];
    if (reveals && first && !editor.visibleRanges.some((range) => ranges.some((one) => range.contains(one)))) {
      editor.revealRange(first, TextEditorRevealType.InCenter);
    }
  }
}

/** The lines of a generated text that belong to a line of the source. */
function linesOf({ lines }: Shown, source: number): number[] {
  return source ? lines.flatMap((line, index) => (line === source ? [index + 1] : [])) : [];
}

/** The text below a line that says what it is of, and what ptxas says of it. */
function withHeader(source: string, kernel: GeneratedKernel, language: Language): Shown {
  const { text, lines } = kernel.texts[language.id] ?? { text: "", lines: [] };
  const header = [`${kernel.call || kernel.kernel} for ${kernel.arch}`, resources(kernel)];
  const first = `${language.comment} ${header.filter((part) => part !== "").join(": ")}\n`;
  return { source, kernel: kernel.kernel, language, text: first + text, lines: [0, ...lines] };
}

function resources(kernel: GeneratedKernel): string {
  if (kernel.registers_per_thread === null) {
    return kernel.resources_error ?? "";
  }
  const spills = kernel.spill_bytes ? `${kernel.spill_bytes} bytes spilled` : "no spills";
  return `${kernel.registers_per_thread} registers a thread, ${spills} (ptxas)`;
}

/** The server's line of the cursor in a document, from 1; null where it is in no editor. */
function lineOf(uri: string): number | null {
  const active = window.activeTextEditor;
  const editors = editorsOf(uri);
  const editor = active && editors.includes(active) ? active : editors[0];
  return editor ? serverLine(editor.document, editor.selection.active.line + 1) : null;
}

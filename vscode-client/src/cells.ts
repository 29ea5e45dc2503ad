import {
  commands,
  NotebookCellKind,
  Range,
  Selection,
  Uri,
  window,
  workspace,
  type NotebookDocument,
  type TextDocument,
  type Position,
  type TextEditor,
  type ViewColumn,
} from "vscode";

/** The scheme of the documents of notebook cells. */
export const CELL = "vscode-notebook-cell";

/** The URI under which the server knows a document: a cell belongs to its notebook. */
export function uriOf(document: TextDocument): string {
  return (notebookOf(document)?.uri ?? document.uri).toString();
}

/** The documents that the server reads as one text: the Python cells of a notebook, in order. */
export function textsOf(document: TextDocument): readonly TextDocument[] {
  const notebook = notebookOf(document);
  return notebook ? cellsOf(notebook) : [document];
}

/** The 1-based line of the server's text that is line `line` of a document. */
export function serverLine(document: TextDocument, line: number): number {
  const texts = textsOf(document);
  return texts.slice(0, texts.indexOf(document)).reduce((sum, { lineCount }) => sum + lineCount, line);
}

/** The document and its 1-based line that are line `line` of the server's text of `uri`. */
export function place(uri: string, line: number): { uri: Uri; line: number } {
  const notebook = workspace.notebookDocuments.find((one) => one.uri.toString() === uri);
  let rest = line;
  for (const cell of notebook ? cellsOf(notebook) : []) {
    if (rest <= cell.lineCount) {
      return { uri: cell.uri, line: rest };
    }
    rest -= cell.lineCount;
  }
  return { uri: Uri.parse(uri), line };
}

/** The visible editors of what the server knows as `uri`. */
export function editorsOf(uri: string): TextEditor[] {
  return window.visibleTextEditors.filter(({ document }) => uriOf(document) === uri);
}

/** Places the cursor in a document or a cell. */
export async function goTo(uri: Uri, at: Position, viewColumn?: ViewColumn): Promise<void> {
  const options = { selection: new Range(at, at), ...(viewColumn === undefined ? {} : { viewColumn }) };
  if (uri.scheme === CELL) {
    await commands.executeCommand("vscode.open", uri, options);
    return;
  }
  // The line's beginning first: an editor that is scrolled to the right stays so for a position in sight.
  const start = at.with({ character: 0 });
  const editor = await window.showTextDocument(uri, { ...options, selection: new Range(start, start) });
  if (at.character > 0) {
    editor.selection = new Selection(at, at);
    editor.revealRange(new Range(at, at));
  }
}

function notebookOf({ uri }: TextDocument): NotebookDocument | undefined {
  const name = uri.toString();
  return uri.scheme === CELL
    ? workspace.notebookDocuments.find((notebook) =>
        notebook.getCells().some(({ document }) => document.uri.toString() === name),
      )
    : undefined;
}

function cellsOf(notebook: NotebookDocument): TextDocument[] {
  return notebook
    .getCells()
    .filter(({ kind, document }) => kind === NotebookCellKind.Code && document.languageId === "python")
    .map(({ document }) => document);
}

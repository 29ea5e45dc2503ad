/** The answer of `vscode.getEditorLayout`: nested groups, with their sizes in pixels. */
export interface EditorLayout {
  /** Whether the outermost groups stand beside (0) or below (1) each other. */
  orientation: number;
  groups: EditorGroup[];
}

interface EditorGroup {
  size?: number;
  groups?: EditorGroup[];
}

/** How an editor looks, as far as it takes room from the text. */
export interface Appearance {
  fontSize: number;
  /** 0 for the default. */
  lensFontSize: number;
  letterSpacing: number;
  lines: number;
  hasGlyphMargin: boolean;
  hasFolding: boolean;
  hasLineNumbers: boolean;
  /** 0 without a minimap. */
  minimapColumns: number;
  scrollbar: number;
}

export interface Room {
  columns: number;
  lensCharacters: number;
}

// The advance of a monospaced font, and the mean one of the user interface's font, in units of the
// size of the font. They are those of DejaVu and Menlo, wide fonts of either kind.
const ADVANCE = 0.603;
const LENS_ADVANCE = 0.492;
// VS Code's editor: https://github.com/microsoft/vscode, editor/common/config/editorOptions.ts
const LENS_FONT = 0.9;
const LINE_HEIGHT = 1.35;
const DECORATIONS_PX = 10;
const FOLDING_PX = 16;
const LEAST_DIGITS = 3;
const MINIMAP_GUTTER_PX = 8;
const BORDER_PX = 2;

/** The widths of the groups of editors in pixels, in the order of their columns. */
export function columnWidths({ orientation, groups }: EditorLayout): (number | undefined)[] {
  const found: (number | undefined)[] = [];
  const walk = (inner: EditorGroup[], across: boolean, width: number | undefined): void => {
    for (const group of inner) {
      const own = across ? group.size : width;
      if (group.groups) {
        walk(group.groups, !across, own);
      } else {
        found.push(own);
      }
    }
  };
  walk(groups, orientation === 0, undefined);
  return found;
}

/** What of a group that is `width` pixels wide the text of an editor has. */
export function roomOf(width: number, look: Appearance): Room {
  const character = look.fontSize * ADVANCE + look.letterSpacing;
  const digits = Math.max(LEAST_DIGITS, String(look.lines).length);
  const gutter =
    (look.hasGlyphMargin ? Math.round(look.fontSize * LINE_HEIGHT) : 0) +
    (look.hasLineNumbers ? digits * character : 0) +
    DECORATIONS_PX +
    (look.hasFolding ? FOLDING_PX : 0);
  const rest = width - gutter - look.scrollbar - BORDER_PX;
  const minimap =
    look.minimapColumns > 0
      ? Math.min(look.minimapColumns, Math.floor(rest / (character + 1))) + MINIMAP_GUTTER_PX
      : 0;
  const text = Math.max(rest - minimap, 0);
  const lens = look.lensFontSize || look.fontSize * LENS_FONT;
  return {
    columns: Math.floor(text / character),
    lensCharacters: Math.floor(text / (lens * LENS_ADVANCE)),
  };
}

/** What the extension and `tirlens serve` say to each other beyond the standard protocol. */

/** Sent with `initialize`. Without `trusted: true` the server runs no code of the workspace. */
export interface InitializationOptions {
  trusted: boolean;
  /** The Python that the editor has selected for the workspace: what an analysis runs under. */
  interpreter: string | null;
  settings: Settings;
  folders: Folder[];
}

/** A folder of a window that has several; its files have its interpreter and its settings. */
export interface Folder {
  path: string;
  interpreter: string | null;
  settings: Settings;
}

/** The `tirlens.*` settings as the server reads them. */
export type Settings = Record<string, unknown>;

/** Client to server: `workspace/didChangeConfiguration`, also when trust or interpreter change. */
export interface ChangedConfiguration {
  settings: { tirlens: Settings; trusted: boolean; interpreter: string | null; folders: Folder[] };
}

/** Server to client: `tirlens/status`, whenever what the status bar shows of a file changes. */
export const STATUS = "tirlens/status";

/** Server to client: the file `uri` has other figures, also when no analysis has just ended. */
export const CHANGED = "$/tirlens/changed";

export interface Status {
  /** The document this is about; null for the server as a whole. */
  uri: string | null;
  state: "idle" | "analyzing" | "ready" | "untrusted" | "no-framework" | "error";
  /** The id of the device in force for the document, such as `h100-sxm`; empty before it is known. */
  device: string;
  /** Which Python the analysis runs under, and why that one. */
  interpreter?: string | null;
  interpreter_why?: string | null;
  /** Such as `tilelang 0.1.15`. */
  framework?: string | null;
  /** What to tell the user; for `no-framework` it has the exact command to run. */
  message?: string | null;
}

/** Commands of the server, run by `workspace/executeCommand`. */
export const SERVER = {
  /** [uri, kernel | null] -> Report */
  report: "tirlens.report",
  /** [uri, {kernel, comparison}] -> Page of page/schema.ts | null */
  reportPage: "tirlens.reportPage",
  /** [uri, rule, line] -> AdviceEdit | null; `line` is that of the report. */
  adviceEdit: "tirlens.adviceEdit",
  /** [uri, kernel | line | null, language] -> GeneratedCode | null; the line is 1-based. */
  generatedCode: "tirlens.generatedCode",
  /** [uri | null] -> string[]; the tools of machine code that are not found for a file's kernels. */
  missingTools: "tirlens.missingTools",
  /** [uri | null, progress token] -> the folder with the tools. */
  installToolchain: "tirlens.installToolchain",
  /** [uri | null, id | null] -> null; null goes back to what the file says. */
  setDevice: "tirlens.setDevice",
  /** [] -> DeviceChoice[] */
  devices: "tirlens.devices",
  /** [uri, kernel | null] -> Calls | null; `insert.line` is 0-based. */
  calls: "tirlens.calls",
  /** [uri] -> null; analyses again, cache or not. */
  reanalyze: "tirlens.reanalyze",
  /** [Shown | null] -> Shown; what is displayed, null for the following choice. */
  show: "tirlens.show",
  /** [uri, line | null] -> HotLine | null; of the kernel at the 0-based line, or the slowest one. */
  hottestLine: "tirlens.hottestLine",
  /** [uri] -> HotLine[]; the lines to mark by their share of the time. */
  heat: "tirlens.heat",
  /** [uri, revision | null] -> its name; the saved text, or a git revision. */
  pinBaseline: "tirlens.pinBaseline",
  /** [uri, columns, characters of a lens] -> null; how much room hints and lenses have, null for unknown. */
  setRoom: "tirlens.setRoom",
  /** [uri] -> null */
  clearBaseline: "tirlens.clearBaseline",
  /** [] -> an object; versions, interpreters, durations, no source. */
  debugInformation: "tirlens.debugInformation",
} as const;

export interface Report {
  title: string;
  /** A document that needs neither server nor network. */
  html: string;
}

/** How much of the analyses is displayed in the text. */
export type Shown = "all" | "hottest" | "marked" | "off";

/** A line of a document or a cell, and its share of a kernel's time; line and character are 0-based. */
export interface HotLine {
  uri: string;
  line: number;
  character: number;
  kernel: string;
  share: number;
  time_s: number;
}

/** What to write for an advice, at zero-based positions of the text of `version`. */
export interface AdviceEdit {
  uri: string;
  version: number;
  title: string;
  newText: string;
  range: [start: [line: number, character: number], end: [line: number, character: number]];
}

/** What the framework makes of kernels. */
export interface GeneratedCode {
  kernels: GeneratedKernel[];
  problems: string[];
  /** The tools without which there is no machine code. */
  missing_tools: string[];
}

export interface GeneratedKernel {
  kernel: string;
  call: string;
  arch: string;
  error: string | null;
  registers_per_thread: number | null;
  spill_bytes: number | null;
  resources_error: string | null;
  /** By language; `lines` are 1-based lines of the source, `cuda_lines` of the CUDA source, 0 for none. */
  texts: Record<string, { text: string; lines: number[]; cuda_lines?: number[] }>;
}

export interface DeviceChoice {
  id: string;
  name: string;
  detail?: string;
  /** Vendor, kind and architecture; the list is ordered by it. */
  group: string;
}

/** The arguments that a kernel could be analysed with. */
export interface Calls {
  kernel: string;
  /** Set where the text fixes all shapes: their size in words, and the 1-based line with them. */
  fixed: { size: string; line: number } | null;
  choices: CallChoice[];
  /** Where the directive goes; `replaces` where one stands on that line already. */
  insert: { uri: string; line: number; indentation: string; replaces: boolean };
}

export interface CallChoice {
  /** What stands after `# tirlens: `. */
  directive: string;
  /** Where it was found, such as `call-site` or `assumed`. */
  source: string;
  current?: boolean;
}

/** Arguments of the commands behind the parts of a code lens; none from the command palette. */
export type LensTarget = [uri?: string, kernel?: string];

import * as vscode from "vscode";
import { workspace, type Event } from "vscode";
import type { Server } from "./client";
import { agentTools } from "./resolve";

/** As `contributes.mcpServerDefinitionProviders` of package.json names it. */
const PROVIDER = "tirlens.tools";
const LABEL = "TIRLens";

/** The part of VS Code's interface for MCP servers that is used here, which 1.101 and later have. */
interface StdioDefinition {
  command: string;
  args: string[];
}

interface DefinitionProvider {
  onDidChangeMcpServerDefinitions: Event<void>;
  provideMcpServerDefinitions(): StdioDefinition[];
  resolveMcpServerDefinition(definition: StdioDefinition): Promise<StdioDefinition>;
}

/** What ends with the extension. */
interface Ended {
  dispose(): unknown;
}

interface McpInterface {
  lm?: {
    registerMcpServerDefinitionProvider?(id: string, provider: DefinitionProvider): Ended;
  };
  McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: string[],
    env: Record<string, string>,
    version: string,
  ) => StdioDefinition;
}

/**
 * Offers the tools of `tirlens mcp` to the agents of the editor, for the folders of a trusted
 * workspace; nothing where the editor has no interface for it.
 */
export function offerTools(server: Server, folder: string, version: string): Ended[] {
  const { lm, McpStdioServerDefinition: Definition } = vscode as unknown as McpInterface;
  if (!lm?.registerMcpServerDefinitionProvider || !Definition) {
    return [];
  }
  const changed = new vscode.EventEmitter<void>();
  const change = (): void => {
    changed.fire();
  };
  return [
    changed,
    workspace.onDidGrantWorkspaceTrust(change),
    workspace.onDidChangeWorkspaceFolders(change),
    lm.registerMcpServerDefinitionProvider(PROVIDER, {
      onDidChangeMcpServerDefinitions: changed.event,
      // Asked for at each start of a chat: a Python is looked for only once a server is started.
      provideMcpServerDefinitions: () =>
        allowed().length > 0 ? [new Definition(LABEL, "tirlens", ["mcp"], {}, version)] : [],
      resolveMcpServerDefinition: async (definition) => {
        const found = await server.find();
        if (!("command" in found)) {
          throw new Error(["No Python can run TIRLens.", ...found.reasons].join(" "));
        }
        const tools = await agentTools(found, allowed(), folder);
        if (typeof tools === "string") {
          throw new Error(tools);
        }
        definition.command = tools.command;
        definition.args = tools.args;
        return definition;
      },
    }),
  ];
}

/** The folders whose files the tools may execute: those that the user trusts. */
function allowed(): string[] {
  const folders = workspace.isTrusted ? (workspace.workspaceFolders ?? []) : [];
  return folders.filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath);
}

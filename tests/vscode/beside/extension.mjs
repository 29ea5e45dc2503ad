// Starts the language servers of the setting `beside.servers`: {name: [command, ...arguments]}.

import { workspace } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

export async function activate({ subscriptions }) {
  const servers = Object.entries(workspace.getConfiguration("beside").get("servers"));
  for (const [name, [command, ...args]] of servers) {
    const options = { documentSelector: [{ language: "python", scheme: "file" }] };
    const client = new LanguageClient(name, name, { command, args }, options);
    subscriptions.push(client);
    await client.start();
  }
}

/** NVIDIA's compiler and disassembler, which machine code needs: installed when the user asks for it. */

import { ProgressLocation, window } from "vscode";
import type { Server } from "./client";
import { log } from "./log";
import { SERVER } from "./protocol";

export const INSTALL_TOOLCHAIN = "tirlens.installToolchain";
export const TOOLCHAIN_TITLE = "Install NVIDIA's compiler (350 MB)";

/** Installs the tools for the kernels of a document; false where the user cancels it. */
export async function installToolchain(server: Server, uri: string | null): Promise<boolean> {
  const title = "TIRLens: installing NVIDIA's compiler (350 MB)";
  const options = { location: ProgressLocation.Notification, title, cancellable: true };
  return window.withProgress(options, async (progress, token) => {
    try {
      const report = (message: string): void => {
        progress.report({ message });
      };
      const folder = await server.runLong<string>(SERVER.installToolchain, [uri], report, token);
      log.info(`NVIDIA's compiler is in ${folder ?? "no folder: there is no server"}`);
      return folder !== undefined;
    } catch (error) {
      if (token.isCancellationRequested) {
        return false;
      }
      throw error;
    }
  });
}

/** The tools that are not found for the kernels of a document. */
export async function missingTools(server: Server, uri: string | null): Promise<string[]> {
  return (await server.run<string[]>(SERVER.missingTools, uri)) ?? [];
}

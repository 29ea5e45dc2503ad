import { commands, Uri, window, workspace, WorkspaceEdit } from "vscode";

/** The file of each sample, by the framework that it needs. */
const SAMPLES = { tilelang: "gemm_tilelang.py", tvm: "matmul_tvm.py" };

/** Opens a sample kernel beside the files of the workspace; nothing is written until it is saved. */
export async function openSample(folder: Uri, framework: unknown): Promise<void> {
  const name = framework === "tvm" ? SAMPLES.tvm : SAMPLES.tilelang;
  const sample = await workspace.fs.readFile(Uri.joinPath(folder, name));
  const text = new TextDecoder().decode(sample);
  const root = workspace.workspaceFolders?.[0]?.uri;
  const here = workspace.textDocuments.find(
    ({ uri }) => uri.scheme === "untitled" && uri.path.endsWith(`/${name}`),
  );
  if (here) {
    await window.showTextDocument(here);
    return;
  }
  if (!root) {
    const document = await workspace.openTextDocument({ language: "python", content: text });
    await window.showTextDocument(document);
    return;
  }
  // In the workspace, so that its environment is found; the name is free when it is saved.
  const target = Uri.joinPath(root, name).with({ scheme: "untitled" });
  const document = await workspace.openTextDocument(target);
  if (document.getText() === "") {
    const edit = new WorkspaceEdit();
    edit.insert(target, document.positionAt(0), text);
    await workspace.applyEdit(edit);
  }
  await window.showTextDocument(document);
  await commands.executeCommand("tirlens.analyze", target.toString());
}

import { QuickPickItemKind, window, type Memento, type QuickPickItem } from "vscode";
import type { Server } from "./client";
import { SERVER, type DeviceChoice } from "./protocol";
import { store } from "./settings";

const RECENT = "recentDevices";
const MOST_RECENT = 5;

/** The choice of a device: the one in use and recent ones first, then by vendor and architecture. */
export class DevicePicker {
  constructor(
    private readonly server: Server,
    private readonly memory: Memento,
  ) {}

  /** Has the user choose the device to estimate for. */
  async choose(current: string | undefined): Promise<void> {
    const chosen = await this.pick("TIRLens: estimate for which device?", current);
    if (chosen !== undefined) {
      await store("device", chosen);
    }
  }

  /** Has the user choose a device; undefined where none is chosen. */
  async pick(title: string, current?: string): Promise<string | undefined> {
    const devices = (await this.server.run<DeviceChoice[]>(SERVER.devices)) ?? [];
    const recent = this.memory.get<string[]>(RECENT, []);
    const items = ordered(devices, recent, current);
    const chosen = await window.showQuickPick(items, {
      title,
      placeHolder: "Name, architecture or number of SMs",
      matchOnDescription: true,
      matchOnDetail: true,
    });
    if (chosen) {
      const known = [chosen.label, ...recent.filter((id) => id !== chosen.label)];
      await this.memory.update(RECENT, known.slice(0, MOST_RECENT));
    }
    return chosen?.label;
  }
}

function ordered(
  devices: readonly DeviceChoice[],
  recent: readonly string[],
  current: string | undefined,
): QuickPickItem[] {
  const byId = new Map(devices.map((device) => [device.id, device]));
  const first = [...new Set([...(current === undefined ? [] : [current]), ...recent])]
    .map((id) => byId.get(id))
    .filter((device) => device !== undefined);
  const items: QuickPickItem[] = [];
  let group = "";
  const add = (device: DeviceChoice, under: string): void => {
    if (under !== group) {
      group = under;
      items.push({ label: under, kind: QuickPickItemKind.Separator });
    }
    const { id, name, detail } = device;
    items.push({
      label: id,
      description: id === current ? `${name} (in use)` : name,
      ...(detail === undefined ? {} : { detail }),
    });
  };
  first.forEach((device) => {
    add(device, "in use and recent");
  });
  devices.filter((device) => !first.includes(device)).forEach((device) => {
    add(device, device.group);
  });
  return items;
}

import { QuickPickItemKind, window, type Event, type Memento, type QuickPickItem } from "vscode";
import type { Server } from "./client";
import { SERVER, type DeviceChoice } from "./protocol";
import { store } from "./settings";

const RECENT = "recentDevices";
const MOST_RECENT = 5;

/** The device in use, which an analysis that is under way may change. */
export interface DeviceInUse {
  /** Its id; undefined or empty before it is known. */
  current: () => string | undefined;
  onDidChange: Event<unknown>;
}

/** The choice of a device: the one in use and recent ones first, then by vendor and architecture. */
export class DevicePicker {
  constructor(
    private readonly server: Server,
    private readonly memory: Memento,
  ) {}

  /** Has the user choose the device to estimate for. */
  async choose(inUse: DeviceInUse): Promise<void> {
    const chosen = await this.pick("TIRLens: estimate for which device?", inUse);
    if (chosen !== undefined) {
      await store("device", chosen, window.activeTextEditor?.document.uri);
    }
  }

  /** Has the user choose a device; undefined where none is chosen. */
  async pick(title: string, inUse?: DeviceInUse): Promise<string | undefined> {
    const devices = (await this.server.run<DeviceChoice[]>(SERVER.devices)) ?? [];
    const recent = this.memory.get<string[]>(RECENT, []);
    const chosen = await this.ask(title, devices, recent, inUse);
    if (chosen !== undefined) {
      const known = [chosen, ...recent.filter((id) => id !== chosen)];
      await this.memory.update(RECENT, known.slice(0, MOST_RECENT));
    }
    return chosen;
  }

  /** Shows the list, which is ordered again when the device in use becomes known. */
  private ask(
    title: string,
    devices: readonly DeviceChoice[],
    recent: readonly string[],
    inUse: DeviceInUse | undefined,
  ): Promise<string | undefined> {
    return new Promise((resolve) => {
      const picker = window.createQuickPick();
      let current = inUse?.current();
      picker.title = title;
      picker.placeholder = "Name, architecture or number of SMs";
      picker.matchOnDescription = true;
      picker.matchOnDetail = true;
      picker.items = ordered(devices, recent, current);
      const update = (): void => {
        const now = inUse?.current();
        if (now === current) {
          return;
        }
        current = now;
        const first = picker.items.find(({ kind }) => kind !== QuickPickItemKind.Separator);
        const [active] = picker.activeItems;
        picker.items = ordered(devices, recent, current);
        // Whoever has moved away from the first row stays where they are.
        const same = picker.items.filter(({ label }) => active !== first && label === active?.label);
        if (same.length > 0) {
          picker.activeItems = same;
        }
      };
      const subscriptions: { dispose(): unknown }[] = [
        picker,
        picker.onDidAccept(() => {
          resolve(picker.activeItems[0]?.label);
          picker.hide();
        }),
        picker.onDidHide(() => {
          resolve(undefined);
          subscriptions.forEach((subscription) => {
            subscription.dispose();
          });
        }),
        ...(inUse ? [inUse.onDidChange(update)] : []),
      ];
      picker.show();
    });
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

import {
  bindingText,
  fleetKeys,
  type AnswerEntry,
  type CommandEntry,
  type FleetBinding,
  type FleetEntry,
  type InstanceEntry,
  type KeyedFleetEntry,
  type OrderEntry,
} from './fleet-entry.js';

/** An instance that has missed so many of its reports is silent. */
const MISSED_REPORTS = 3;
/** A silent instance is forgotten after this time. */
const FORGOTTEN_AFTER_MS = 10 * 60_000;
/** Answers that come this long after the end of their command are still shown. */
const KEPT_AFTER_MS = 60_000;
/** The instance that gave a command deletes it. After this time, any instance does. */
const ABANDONED_AFTER_MS = 60 * 60_000;

/** What the control topic says. Entries are applied in its order. */
export class FleetView {
  readonly #instances = new Map<string, InstanceEntry>();
  readonly #orders = new Map<string, OrderEntry>();
  readonly #commands = new Map<string, CommandEntry>();
  readonly #answers = new Map<string, Map<string, AnswerEntry>>();

  apply(key: string, entry: FleetEntry | undefined): void {
    if (!entry) return this.#delete(key);
    switch (entry.kind) {
      case 'instance':
        this.#instances.set(entry.name, entry);
        break;
      case 'order':
        this.#orders.set(key, entry);
        break;
      case 'command':
        this.#commands.set(entry.id, entry);
        break;
      case 'answer': {
        const answers = this.#answers.get(entry.command) ?? new Map<string, AnswerEntry>();
        answers.set(entry.instance, entry);
        this.#answers.set(entry.command, answers);
      }
    }
  }

  clear(): void {
    for (const map of [this.#instances, this.#orders, this.#commands, this.#answers]) map.clear();
  }

  get instances(): readonly InstanceEntry[] {
    return [...this.#instances.values()];
  }

  get orders(): readonly OrderEntry[] {
    return [...this.#orders.values()];
  }

  ordersOf(binding: FleetBinding): readonly OrderEntry[] {
    const text = bindingText(binding);
    return this.orders.filter((order) => bindingText(order.binding) === text);
  }

  order(key: string): OrderEntry | undefined {
    return this.#orders.get(key);
  }

  hasCommand(id: string): boolean {
    return this.#commands.has(id);
  }

  answersTo(command: string): ReadonlyMap<string, AnswerEntry> {
    return this.#answers.get(command) ?? new Map<string, AnswerEntry>();
  }

  /** Instances that have the binding, silent ones included. */
  instancesWith(binding: FleetBinding): readonly InstanceEntry[] {
    const text = bindingText(binding);
    return this.instances.filter(({ bindings }) =>
      bindings.some((each) => bindingText(each) === text),
    );
  }

  /** Returns deletions of what nobody needs any more. `own` is the name of this instance. */
  outdated(now: number, own: string): readonly KeyedFleetEntry[] {
    const commands = [...this.#commands.values()].filter(
      ({ at, from, validMs }) =>
        now > at + validMs + (from === own ? KEPT_AFTER_MS : ABANDONED_AFTER_MS),
    );
    const instances = this.instances.filter(
      ({ at, name }) => name !== own && now > at + FORGOTTEN_AFTER_MS,
    );
    return [
      ...instances.map(({ name }) => fleetKeys.instance(name)),
      ...commands.flatMap(({ id }) => [
        fleetKeys.command(id),
        ...[...this.answersTo(id).keys()].map((name) => fleetKeys.answer(id, name)),
      ]),
    ].map((key) => [key, null]);
  }

  #delete(key: string): void {
    const [kind, id = ''] = key.split('/', 2);
    const rest = key.slice(`${kind}/`.length);
    if (kind === 'instance') this.#instances.delete(rest);
    else if (kind === 'order') this.#orders.delete(key);
    else if (kind === 'command') {
      this.#commands.delete(id);
      this.#answers.delete(id);
    }
  }
}

/** Returns whether an instance has missed its last reports: it was killed, frozen, or cut off. */
export function isSilent({ at, reportIntervalMs }: InstanceEntry, now: number): boolean {
  return now - at > MISSED_REPORTS * reportIntervalMs;
}

import type { DriverLogger } from '@nest-event-bus/broker';

/** Limits for the types in records, whose number and length the sender decides. */
const MAX_TYPES = 1_000;
const MAX_TYPE_LENGTH = 100;

/** Logs each event type that has no handler, once. */
export class UnknownTypeWarnings {
  readonly #seen = new Set<string>();

  constructor(
    private readonly binding: string,
    private readonly logger: DriverLogger,
  ) {}

  warn(type: string | undefined): void {
    const name = describeType(type);
    if (this.#seen.has(name) || this.#seen.size >= MAX_TYPES) return;
    this.#seen.add(name);
    this.logger.warn(
      `Binding '${this.binding}' has no handler for ${name}: such records are discarded. Handle the type, add a handler without a type, or set unknownType: 'fail'.`,
      { binding: this.binding },
    );
  }
}

export function describeType(type: string | undefined): string {
  if (type === undefined) return 'records without a type';
  return `type '${type.length > MAX_TYPE_LENGTH ? `${type.slice(0, MAX_TYPE_LENGTH)}…` : type}'`;
}

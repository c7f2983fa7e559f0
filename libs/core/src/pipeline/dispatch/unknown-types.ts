import type { DriverLogger } from '@nest-event-bus/broker';

/** Types come out of records: neither their number nor their length is in our hands. */
const MOST_TYPES = 1_000;
const LONGEST_TYPE = 100;

/** Warns of each type that no handler takes, once. */
export class UnknownTypes {
  readonly #seen = new Set<string>();

  constructor(
    private readonly binding: string,
    private readonly logger: DriverLogger,
  ) {}

  warn(type: string | undefined): void {
    const name = typeName(type);
    if (this.#seen.has(name) || this.#seen.size >= MOST_TYPES) return;
    this.#seen.add(name);
    this.logger.warn(
      `Binding '${this.binding}' has no handler for ${name}: such records are discarded. Handle the type, add a handler without a type, or set unknownType: 'fail'.`,
      { binding: this.binding },
    );
  }
}

export function typeName(type: string | undefined): string {
  if (type === undefined) return 'records without a type';
  return `type '${type.length > LONGEST_TYPE ? `${type.slice(0, LONGEST_TYPE)}…` : type}'`;
}

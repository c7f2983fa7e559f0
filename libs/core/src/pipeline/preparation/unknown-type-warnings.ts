import type { DriverLogger } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { shownValue } from '../../errors/texts/shown-value.js';

/** Limit for remembered types, because the sender decides how many there are. */
const MAX_TYPES = 1_000;

/** Logs each event type that has no handler, once. Types that are not shown share one line. */
export class UnknownTypeWarnings {
  readonly #seen = new Set<string>();

  constructor(
    private readonly binding: Pick<ResolvedBinding, 'name' | 'typeFrom'>,
    private readonly logger: DriverLogger,
  ) {}

  warn(type: string | undefined): void {
    const { name, typeFrom } = this.binding;
    const described = describeType(type, typeFrom);
    if (this.#seen.has(described) || this.#seen.size >= MAX_TYPES) return;
    this.#seen.add(described);
    this.logger.warn(
      `Binding '${name}' has no handler for ${described}: such records are discarded. Handle the type, add a handler without a type, or set unknownType: 'fail'.`,
      { binding: name },
    );
  }
}

export function describeType(type: string | undefined, typeFrom: string): string {
  if (type === undefined) return 'records without a type';
  const shown = shownValue(type, typeFrom);
  return shown === undefined ? `a type that ${typeFrom} contains` : `type '${shown}'`;
}

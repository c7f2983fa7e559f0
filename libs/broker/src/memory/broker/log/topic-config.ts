import { Refusal } from '../faults/refusal.js';

const INTEGER = /^-?\d+$/;

interface ConfigEntry {
  readonly defaultValue: string;
  readonly accepts: (value: string) => boolean;
}

const integerFrom = (least: number, defaultValue: string): ConfigEntry => ({
  defaultValue,
  accepts: (value) => INTEGER.test(value) && Number(value) >= least,
});
const oneOf = (...allowed: readonly [string, ...string[]]): ConfigEntry => ({
  defaultValue: allowed[0],
  accepts: (value) => allowed.includes(value),
});

/**
 * Configuration entries of a topic with Kafka 4's defaults. Entries about disk usage have no effect
 * here.
 */
const ENTRIES = {
  'cleanup.policy': oneOf('delete', 'compact', 'compact,delete', 'delete,compact'),
  'compression.type': oneOf('producer', 'uncompressed', 'gzip', 'snappy', 'lz4', 'zstd'),
  'delete.retention.ms': integerFrom(0, '86400000'),
  'file.delete.delay.ms': integerFrom(0, '60000'),
  'flush.messages': integerFrom(1, '9223372036854775807'),
  'flush.ms': integerFrom(0, '9223372036854775807'),
  'index.interval.bytes': integerFrom(0, '4096'),
  'max.compaction.lag.ms': integerFrom(1, '9223372036854775807'),
  'max.message.bytes': integerFrom(0, '1048588'),
  'message.timestamp.after.max.ms': integerFrom(0, '3600000'),
  'message.timestamp.before.max.ms': integerFrom(0, '9223372036854775807'),
  'message.timestamp.type': oneOf('CreateTime', 'LogAppendTime'),
  'min.cleanable.dirty.ratio': {
    defaultValue: '0.5',
    accepts: (value) => Number(value) >= 0 && Number(value) <= 1,
  },
  'min.compaction.lag.ms': integerFrom(0, '0'),
  'min.insync.replicas': integerFrom(1, '1'),
  preallocate: oneOf('false', 'true'),
  'retention.bytes': integerFrom(-1, '-1'),
  'retention.ms': integerFrom(-1, '604800000'),
  'segment.bytes': integerFrom(14, '1073741824'),
  'segment.index.bytes': integerFrom(4, '10485760'),
  'segment.jitter.ms': integerFrom(0, '0'),
  'segment.ms': integerFrom(1, '604800000'),
  'unclean.leader.election.enable': oneOf('false', 'true'),
} as const satisfies Record<string, ConfigEntry>;

type EntryName = keyof typeof ENTRIES;

export class TopicConfig {
  readonly #changed = new Map<string, string>();

  constructor(given: Readonly<Record<string, string>> = {}) {
    this.alter(given);
  }

  /** Applies all changes or none: one invalid entry leaves the others unchanged. */
  alter(changes: Readonly<Record<string, string | null>>): void {
    for (const [name, value] of Object.entries(changes)) check(name, value);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) this.#changed.delete(name);
      else this.#changed.set(name, value);
    }
  }

  entries(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(ENTRIES).map(([name, { defaultValue }]) => [
        name,
        this.#changed.get(name) ?? defaultValue,
      ]),
    );
  }

  number(name: EntryName): number {
    return Number(this.text(name));
  }

  text(name: EntryName): string {
    return this.#changed.get(name) ?? ENTRIES[name].defaultValue;
  }
}

function check(name: string, value: string | null): void {
  const entry = (ENTRIES as Readonly<Record<string, ConfigEntry>>)[name];
  if (!entry) throw new Refusal('INVALID_CONFIG', `unknown topic config name: ${name}`);
  if (value !== null && !entry.accepts(value))
    throw new Refusal('INVALID_CONFIG', `invalid value ${value} for configuration ${name}`);
}

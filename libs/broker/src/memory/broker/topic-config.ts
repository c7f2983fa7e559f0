import { Refusal } from './refusal.js';

const WHOLE = /^-?\d+$/;

interface Entry {
  readonly standard: string;
  readonly accepts: (value: string) => boolean;
}

const wholeFrom = (least: number, standard: string): Entry => ({
  standard,
  accepts: (value) => WHOLE.test(value) && Number(value) >= least,
});
const oneOf = (...allowed: readonly [string, ...string[]]): Entry => ({
  standard: allowed[0],
  accepts: (value) => allowed.includes(value),
});

/** The entries of a topic's configuration with Kafka 4's defaults. Those that rule how a disk is used have no effect here. */
const ENTRIES = {
  'cleanup.policy': oneOf('delete', 'compact', 'compact,delete', 'delete,compact'),
  'compression.type': oneOf('producer', 'uncompressed', 'gzip', 'snappy', 'lz4', 'zstd'),
  'delete.retention.ms': wholeFrom(0, '86400000'),
  'file.delete.delay.ms': wholeFrom(0, '60000'),
  'flush.messages': wholeFrom(1, '9223372036854775807'),
  'flush.ms': wholeFrom(0, '9223372036854775807'),
  'index.interval.bytes': wholeFrom(0, '4096'),
  'max.compaction.lag.ms': wholeFrom(1, '9223372036854775807'),
  'max.message.bytes': wholeFrom(0, '1048588'),
  'message.timestamp.after.max.ms': wholeFrom(0, '3600000'),
  'message.timestamp.before.max.ms': wholeFrom(0, '9223372036854775807'),
  'message.timestamp.type': oneOf('CreateTime', 'LogAppendTime'),
  'min.cleanable.dirty.ratio': {
    standard: '0.5',
    accepts: (value) => Number(value) >= 0 && Number(value) <= 1,
  },
  'min.compaction.lag.ms': wholeFrom(0, '0'),
  'min.insync.replicas': wholeFrom(1, '1'),
  preallocate: oneOf('false', 'true'),
  'retention.bytes': wholeFrom(-1, '-1'),
  'retention.ms': wholeFrom(-1, '604800000'),
  'segment.bytes': wholeFrom(14, '1073741824'),
  'segment.index.bytes': wholeFrom(4, '10485760'),
  'segment.jitter.ms': wholeFrom(0, '0'),
  'segment.ms': wholeFrom(1, '604800000'),
  'unclean.leader.election.enable': oneOf('false', 'true'),
} as const satisfies Record<string, Entry>;

type EntryName = keyof typeof ENTRIES;

export class TopicConfig {
  readonly #changed = new Map<string, string>();

  constructor(given: Readonly<Record<string, string>> = {}) {
    this.alter(given);
  }

  /** All or nothing: one entry that is not accepted leaves the others as they were. */
  alter(changes: Readonly<Record<string, string | null>>): void {
    for (const [name, value] of Object.entries(changes)) check(name, value);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) this.#changed.delete(name);
      else this.#changed.set(name, value);
    }
  }

  entries(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(ENTRIES).map(([name, { standard }]) => [
        name,
        this.#changed.get(name) ?? standard,
      ]),
    );
  }

  number(name: EntryName): number {
    return Number(this.text(name));
  }

  text(name: EntryName): string {
    return this.#changed.get(name) ?? ENTRIES[name].standard;
  }
}

function check(name: string, value: string | null): void {
  const entry = (ENTRIES as Readonly<Record<string, Entry>>)[name];
  if (!entry) throw new Refusal('INVALID_CONFIG', `unknown topic config name: ${name}`);
  if (value !== null && !entry.accepts(value))
    throw new Refusal('INVALID_CONFIG', `invalid value ${value} for configuration ${name}`);
}

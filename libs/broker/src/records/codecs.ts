import type { Compression } from '../port/producer.js';
import { gzip } from './codecs/gzip.js';
import { lz4 } from './codecs/lz4.js';
import { CODEC, type RecordCodec, type RecordInflater } from './codecs/record-codec.js';
import { snappy } from './codecs/snappy.js';
import { zstd } from './codecs/zstd.js';

/** Which codecs can be read; a batch of any other is poison. */
export class CodecRegistry {
  private readonly codecs = new Map<number, RecordInflater>();

  constructor(codecs: Iterable<RecordInflater> = [gzip, snappy, lz4, zstd]) {
    for (const codec of codecs) this.codecs.set(codec.id, codec);
  }

  find(id: number): RecordInflater | undefined {
    return this.codecs.get(id);
  }

  /** Kafka's name for the number, known to us or not. */
  static nameOf(id: number): string {
    const entry = Object.entries(CODEC).find(([, known]) => known === id);
    return entry === undefined ? `codec ${id}` : entry[0];
  }
}

export const standardCodecs = new CodecRegistry();

/** What each compression is written with; undefined where this process cannot. */
const WRITING: Readonly<Record<Exclude<Compression, 'none'>, RecordCodec | undefined>> = {
  gzip,
  snappy,
  lz4,
  zstd: 'compress' in zstd ? zstd : undefined,
};

/** What producers of this process can write. */
export const writableCompressions: readonly Compression[] = [
  'none',
  ...(['gzip', 'snappy', 'lz4', 'zstd'] as const).filter((name) => WRITING[name] !== undefined),
];

/** Undefined for `'none'`, and for what is not among the `writableCompressions`. */
export function codecOf(compression: Compression): RecordCodec | undefined {
  return compression === 'none' ? undefined : WRITING[compression];
}

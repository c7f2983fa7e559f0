import type { Compression } from '../port/producer.js';
import { gzip } from './codecs/gzip.js';
import { lz4 } from './codecs/lz4.js';
import { CODEC, type RecordCodec, type RecordInflater } from './codecs/record-codec.js';
import { snappy } from './codecs/snappy.js';
import { zstd } from './codecs/zstd.js';

/** The codecs that can be read. A batch with any other codec causes a PoisonBatchError. */
export class CodecRegistry {
  private readonly codecs = new Map<number, RecordInflater>();

  constructor(codecs: Iterable<RecordInflater> = [gzip, snappy, lz4, zstd]) {
    for (const codec of codecs) this.codecs.set(codec.id, codec);
  }

  find(id: number): RecordInflater | undefined {
    return this.codecs.get(id);
  }

  /** Returns Kafka's name for the number, even if this registry cannot read the codec. */
  static nameOf(id: number): string {
    const entry = Object.entries(CODEC).find(([, known]) => known === id);
    return entry === undefined ? `codec ${id}` : entry[0];
  }
}

export const standardCodecs = new CodecRegistry();

/** The codec that writes each compression; undefined if this process cannot write it. */
const WRITERS: Readonly<Record<Exclude<Compression, 'none'>, RecordCodec | undefined>> = {
  gzip,
  snappy,
  lz4,
  zstd: 'compress' in zstd ? zstd : undefined,
};

/** The compressions that producers of this process can write. */
export const writableCompressions: readonly Compression[] = [
  'none',
  ...(['gzip', 'snappy', 'lz4', 'zstd'] as const).filter((name) => WRITERS[name] !== undefined),
];

/** Returns undefined for `'none'`, and for a compression that is not in `writableCompressions`. */
export function codecOf(compression: Compression): RecordCodec | undefined {
  return compression === 'none' ? undefined : WRITERS[compression];
}

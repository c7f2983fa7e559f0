import type { BindingRef } from '../../model/states/binding-ref.js';
import { refused } from '../letters/filter-conditions.js';
import { withDeadLetters, type RedriveParts } from '../ledger/ledger-access.js';
import { readDltStats, type DltStats } from './dlt-stats.js';

export interface DltStatsOptions {
  /**
   * The largest number of letters to read. Of a larger topic only a part is read, and `sampled`
   * says so. Default 1,000,000.
   */
  readonly mostRead?: number;
  readonly signal?: AbortSignal;
}

const DEFAULT_MOST_READ = 1_000_000;

/** Says how many dead letters a binding has, how old they are, and why they failed. */
export class DltStatsService {
  constructor(private readonly parts: RedriveParts) {}

  /** Reads without a consumer group, and changes nothing. */
  async stats(
    ref: BindingRef,
    { mostRead = DEFAULT_MOST_READ, signal }: DltStatsOptions = {},
  ): Promise<DltStats> {
    if (!Number.isSafeInteger(mostRead) || mostRead < 1)
      throw refused('mostRead', 'must be a whole number above 0');
    const owner = this.parts.bindingOf(ref);
    const now = this.parts.runtime.now();
    const stats = await withDeadLetters(this.parts, ref, ({ admin, topics }) =>
      readDltStats({ admin, topics, owner, now, mostRead, signal }),
    );
    return stats ?? noLetters(owner.name, owner.dlt.topic);
  }
}

function noLetters(binding: string, deadLetterTopic: string): DltStats {
  return {
    binding,
    deadLetterTopic,
    count: 0,
    byStatus: { open: 0, replayed: 0, 'permanently-failed': 0 },
    byException: {},
    byReason: {},
    byTier: {},
    byAge: { under1h: 0, under1d: 0, under7d: 0, older: 0 },
    byOriginalPartition: {},
    byBinding: {},
    groups: [],
  };
}

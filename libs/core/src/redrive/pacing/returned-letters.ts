import type { AdminSession } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerText } from '../../model/records/header-text.js';
import { belongsTo, ReadLetter, type LetterOwner } from '../letters/read-letters.js';
import { parseReplayId } from '../outcomes/replay-id.js';
import type { RedrivePlan } from '../planning/redrive-plan.js';

export interface ReturnedLettersParts {
  readonly admin: Pick<AdminSession, 'readRange' | 'watermarks'>;
  readonly owner: LetterOwner;
  readonly plan: Pick<RedrivePlan, 'id' | 'deadLetterTopic' | 'groups'>;
  readonly runtime: Pick<Runtime, 'monotonic'>;
  readonly signal: AbortSignal;
}

/** How far a partition was read, and its end at that time. */
interface ReadTo {
  readonly next: number;
  readonly high: number;
}

/**
 * Counts new dead letters that show that the cause is not gone: letters of the groups of cause that
 * the plan selected, and letters that this operation has replayed.
 */
export class ReturnedLetters {
  /** All returned letters since the beginning of the run. */
  total = 0;
  #before = 0;
  #lastAt: number;
  #read: Map<number, ReadTo> | undefined;
  readonly #groups: ReadonlySet<string>;

  constructor(private readonly parts: ReturnedLettersParts) {
    this.#groups = new Set(parts.plan.groups.map(({ id }) => id));
    this.#lastAt = parts.runtime.monotonic();
  }

  /** Returned letters since the beginning, or since the last `forget`. */
  get count(): number {
    return this.total - this.#before;
  }

  get quietForMs(): number {
    return this.parts.runtime.monotonic() - this.#lastAt;
  }

  /** Counts from zero again, because the operation goes on. */
  forget(): void {
    this.#before = this.total;
  }

  /** Reads the letters that were written since the last call. */
  async read(): Promise<void> {
    const { admin, plan, runtime, signal } = this.parts;
    const marks = await admin.watermarks(plan.deadLetterTopic);
    const isFirst = this.#read === undefined;
    const all = (this.#read ??= new Map<number, ReadTo>());
    for (const { partition, high } of marks) {
      const begin = isFirst ? high : 0;
      const known = all.get(partition) ?? { next: begin, high: begin };
      let { next } = known;
      if (high !== known.high && next < high)
        for await (const record of admin.readRange(plan.deadLetterTopic, partition, next, high, {
          signal,
        })) {
          next = record.offset + 1;
          all.set(partition, { next, high: known.high });
          if (!this.#isReturned(new ReadLetter(record))) continue;
          this.total++;
          this.#lastAt = runtime.monotonic();
        }
      // What is left may belong to an open transaction, whose end will move the end of the partition.
      all.set(partition, { next, high });
    }
  }

  #isReturned(letter: ReadLetter): boolean {
    const { owner, plan } = this.parts;
    if (!belongsTo(letter, owner)) return false;
    const replayId = headerText(letter.record.headers, EVENTBUS_HEADERS.replayId);
    const isOfOperation = replayId !== undefined && parseReplayId(replayId)?.operation === plan.id;
    return isOfOperation || this.#groups.has(letter.group);
  }
}

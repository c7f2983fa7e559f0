import {
  errorReasonOf,
  type BrokerDriver,
  type OutgoingRecord,
  type ProducerSession,
} from '@nest-event-bus/broker';
import { resolvesWithin, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { ReplayOutcome, ReplayOutcomes } from '../../model/outcomes/replay-outcomes.js';
import type { OngoingProblems } from '../../problems/ongoing-problems.js';
import { encodeEntry, ledgerKeys } from '../ledger/ledger-entry.js';
import { ledgerTopicOf } from '../ledger/ledger-topic.js';
import { parseReplayId } from './replay-id.js';

export interface OutcomeWriterParts {
  readonly binding: Pick<ResolvedBinding, 'name' | 'dlt' | 'provisioning' | 'topics'>;
  readonly driver: () => Pick<BrokerDriver, 'admin'>;
  readonly producer: () => Pick<ProducerSession, 'send'>;
  readonly problems: Pick<OngoingProblems, 'report' | 'end'>;
  readonly runtime: Runtime;
}

/** The longest time for which a replayed record waits for the ledger. */
const LONGEST_WAIT_MS = 5_000;
/** Outcomes that may be on their way at the same time. */
const MOST_PENDING = 1_000;
const LOOK_AGAIN_MS = 10_000;
const PROBLEM = 'outcomes of replays';

/**
 * Writes how replays end to the ledger of the binding. The record waits for the write, so that a
 * crash repeats both. If the ledger does not answer, the record waits once for a limited time. Until
 * the ledger answers again, no other record waits, and a problem is told.
 */
export class OutcomeWriter implements ReplayOutcomes {
  #ledger: Promise<number | undefined> | undefined;
  #lookAt = -Infinity;
  #pending = 0;
  #isSilent = false;

  constructor(private readonly parts: OutcomeWriterParts) {}

  async store(replayId: string, outcome: ReplayOutcome): Promise<void> {
    const replay = parseReplayId(replayId);
    if (!replay) return;
    if (this.#pending >= MOST_PENDING) return this.#tell('it has not answered for some time');
    const writing = this.#write(replayId, replay.partition, outcome);
    if (this.#isSilent) return;
    if (await resolvesWithin(this.parts.runtime, LONGEST_WAIT_MS, writing)) return;
    this.#isSilent = true;
    this.#tell(`it has not answered for ${LONGEST_WAIT_MS} ms`);
  }

  /** Never rejects. */
  async #write(replayId: string, partition: number, outcome: ReplayOutcome): Promise<void> {
    this.#pending++;
    try {
      const partitions = await this.#partitionsOfLedger();
      if (partitions === undefined) return this.#tell('the topic does not exist');
      await this.parts.producer().send([this.#record(replayId, partition % partitions, outcome)]);
      this.#isSilent = false;
      this.parts.problems.end(PROBLEM);
    } catch (error) {
      this.#tell(errorReasonOf(error));
    } finally {
      this.#pending--;
    }
  }

  #record(replayId: string, partition: number, outcome: ReplayOutcome): OutgoingRecord {
    const { binding, runtime } = this.parts;
    const entry = { ...outcome, node: runtime.hostname(), at: runtime.now() };
    return {
      topic: ledgerTopicOf(binding),
      partition,
      key: ledgerKeys.outcome(replayId),
      value: encodeEntry({ kind: 'outcome', ...entry }),
    };
  }

  /** Looks for the ledger at the first replayed record, and again after a while if it is missing. */
  async #partitionsOfLedger(): Promise<number | undefined> {
    const now = this.parts.runtime.monotonic();
    if (!this.#ledger || now >= this.#lookAt) {
      this.#lookAt = now + LOOK_AGAIN_MS;
      this.#ledger = this.#lookForLedger();
    }
    const partitions = await this.#ledger;
    if (partitions !== undefined) this.#lookAt = Infinity;
    return partitions;
  }

  async #lookForLedger(): Promise<number | undefined> {
    const admin = this.parts.driver().admin();
    try {
      const [ledger] = await admin.topics([ledgerTopicOf(this.parts.binding)]);
      return ledger?.partitions.length;
    } finally {
      await admin.close();
    }
  }

  #tell(reason: string): void {
    const { binding, problems } = this.parts;
    const ledger = ledgerTopicOf(binding);
    problems.report({
      key: PROBLEM,
      message: `The outcomes of replayed records of binding '${binding.name}' cannot be written to ledger '${ledger}'. They are undecided there. Look at the topic, and at the right to write to it.`,
      ended: `Outcomes of replayed records of binding '${binding.name}' are written to ledger '${ledger}' again`,
      endedReports: `No outcome of a replayed record of binding '${binding.name}' was refused by ledger '${ledger}' for a minute`,
      context: { binding: binding.name, ledger, reason },
    });
  }
}

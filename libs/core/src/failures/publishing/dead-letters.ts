import type { DriverLogger } from '@nest-event-bus/broker';
import { within, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { AlertsUnderWay } from '../../model/states/alerts-under-way.js';
import type { DltCause, DltReason, DltRecord } from '../../model/records/dlt-record.js';
import { DltStrategy } from '../../model/outcomes/dlt-strategy.js';
import type { DltVerdict } from '../../model/extension-points/handler-interfaces.js';
import type { DltPublisher } from './dlt-publisher.js';
import type { FailureStory } from '../report/failure-report.js';

/** A function of the user that is given dead letters. */
export interface DltListener {
  /** For messages: `AlertService.onDeadLetter`. */
  readonly origin: string;
  invoke(record: DltRecord): unknown;
}

export interface DeadLettersParts {
  readonly binding: Pick<ResolvedBinding, 'name' | 'dlt'>;
  readonly publisher: Pick<DltPublisher, 'publish' | 'describe'>;
  /** Asked where the strategy is CUSTOM. */
  readonly handlers: readonly DltListener[];
  /** Told where the strategy is ALERT_AND_STORE. */
  readonly alerts: readonly DltListener[];
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** As many answers are kept of records that could not be written yet. */
const MAX_ANSWERS = 1_000;

export type DeadLetterFate = 'stored' | 'discarded';

interface Letter {
  readonly reason: DltReason;
  readonly cause: DltCause;
}

/** As many alerts may be under way; a storm of dead letters must not fill the memory with them. */
const MAX_ALERTS = 100;

/** Takes dead letters in: each is written to the dead-letter topic, and what the strategy asks for is done besides. */
export class DeadLetters implements AlertsUnderWay {
  /** Records that are to be stored, by their handlers' word, and could not be written yet: nobody is asked twice. */
  readonly #toStore = new Set<string>();
  readonly #alertsUnderWay = new Set<Promise<void>>();
  #alertsLeftOut = 0;

  constructor(private readonly parts: DeadLettersParts) {}

  get count(): number {
    return this.#alertsUnderWay.size;
  }

  async whenEnded(): Promise<void> {
    while (this.#alertsUnderWay.size > 0) await Promise.all(this.#alertsUnderWay);
  }

  /** Rejects with DltPublishException: then nobody has the record but its own topic. */
  async accept(story: FailureStory, letter: Letter, signal: AbortSignal): Promise<DeadLetterFate> {
    const { strategy } = this.parts.binding.dlt;
    if (strategy === DltStrategy.CUSTOM && (await this.#isDiscarded(story, letter)))
      return 'discarded';
    const written = await this.parts.publisher.publish(story, letter, signal);
    this.#toStore.delete(nameOf(story));
    if (strategy === DltStrategy.ALERT_AND_STORE)
      for (const alert of this.parts.alerts) this.#alert(alert, written);
    return 'stored';
  }

  /** Only the word itself discards: whatever else a handler does, the record is stored. */
  async #isDiscarded(story: FailureStory, letter: Letter): Promise<boolean> {
    const name = nameOf(story);
    if (this.#toStore.has(name)) return false;
    const record = this.parts.publisher.describe(story, letter);
    const verdicts = await Promise.all(
      this.parts.handlers.map((handler) => this.#ask(handler, record)),
    );
    const isDiscarded = verdicts.length > 0 && verdicts.every((verdict) => verdict === 'discard');
    if (!isDiscarded) this.#keepToStore(name);
    return isDiscarded;
  }

  /** Of partitions that were taken away some are left over: the oldest go. */
  #keepToStore(name: string): void {
    this.#toStore.add(name);
    const [oldest] = this.#toStore;
    if (this.#toStore.size > MAX_ANSWERS && oldest !== undefined) this.#toStore.delete(oldest);
  }

  async #ask(handler: DltListener, record: DltRecord): Promise<DltVerdict> {
    try {
      return (await this.#bounded(handler, record)) === 'discard' ? 'discard' : 'store';
    } catch (error) {
      this.#tellFailed('A dead-letter handler failed: its record is stored', handler, error);
      return 'store';
    }
  }

  /** The record is safe already, and does not wait for it. */
  #alert(alert: DltListener, record: DltRecord): void {
    if (this.#alertsUnderWay.size >= MAX_ALERTS) {
      this.#alertsLeftOut += 1;
      return;
    }
    const telling: Promise<void> = this.#tell(alert, record).finally(() =>
      this.#alertEnded(telling),
    );
    this.#alertsUnderWay.add(telling);
  }

  async #tell(alert: DltListener, record: DltRecord): Promise<void> {
    try {
      await this.#bounded(alert, record);
    } catch (error) {
      this.#tellFailed('An alert failed: its dead letter is stored all the same', alert, error);
    }
  }

  #alertEnded(telling: Promise<void>): void {
    this.#alertsUnderWay.delete(telling);
    if (this.#alertsUnderWay.size > 0 || this.#alertsLeftOut === 0) return;
    this.parts.logger.error('Alerts were left out: too many were under way', {
      binding: this.parts.binding.name,
      leftOut: this.#alertsLeftOut,
    });
    this.#alertsLeftOut = 0;
  }

  /** One that never answers counts as failed. */
  #bounded({ origin, invoke }: DltListener, record: DltRecord): Promise<unknown> {
    const { runtime, binding } = this.parts;
    const { handlerTimeoutMs } = binding.dlt;
    const answer = (async () => invoke(record))();
    return within(
      runtime,
      handlerTimeoutMs,
      answer,
      () => new Error(`${origin} did not answer within ${handlerTimeoutMs} ms.`),
    );
  }

  #tellFailed(message: string, { origin }: DltListener, error: unknown): void {
    this.parts.logger.error(message, {
      binding: this.parts.binding.name,
      origin,
      error: error instanceof Error ? error.message : String(error),
    });
  }
}

function nameOf({ record: { topic, partition, offset } }: FailureStory): string {
  return `${topic}-${partition}-${offset}`;
}

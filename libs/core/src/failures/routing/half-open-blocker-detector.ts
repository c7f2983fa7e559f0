import type { DriverLogger } from '@nest-event-bus/broker';
import type { CircuitBreaker, CircuitTransition } from '../../model/states/circuit-breaker.js';
import type { BlockingRecord, HalfOpenBlocker } from '../../model/states/half-open-blocker.js';

/**
 * Number of cycles after which a record is reported. Fewer cycles in a row may be chance, or the
 * outage itself.
 */
const CYCLES_BEFORE_REPORT = 3;

/** A period in which the circuit is half open, up to the decision that ends it. */
interface Cycle {
  /**
   * The only record that has failed in the half-open calls so far; undefined if there are several
   * records, or none.
   */
  record: BlockingRecord | undefined;
  failures: number;
  /**
   * Number of half-open calls after which the circuit opened again; undefined while it is half
   * open.
   */
  calls: number | undefined;
  hadOneRecord: boolean;
}

/**
 * Finds a record that keeps its circuit from closing. A record that always fails can open its
 * circuit, and then use all half-open calls. No other record is tried, and the binding waits for
 * ever. Only an operator can distinguish that from an outage, so the log and health name the
 * record.
 */
export class HalfOpenBlockerDetector implements HalfOpenBlocker {
  #cycle: Cycle | undefined;
  #latest: BlockingRecord | undefined;
  #cyclesInARow = 0;

  /**
   * The subscription is never ended, because the breaker belongs to the same binding and ends with
   * it.
   */
  constructor(
    private readonly binding: string,
    breaker: Pick<CircuitBreaker, 'onTransition'>,
    private readonly logger: DriverLogger,
  ) {
    breaker.onTransition((transition) => this.#onTransition(transition));
  }

  get record(): BlockingRecord | undefined {
    return this.#cyclesInARow >= CYCLES_BEFORE_REPORT ? this.#latest : undefined;
  }

  /** Called when a call of the record failed and the record will be redelivered. */
  onRecordKept({ topic, partition, offset }: BlockingRecord): void {
    const cycle = this.#cycle;
    if (!cycle) return;
    const record = { topic, partition, offset };
    cycle.record =
      cycle.failures++ === 0 || isSameRecord(cycle.record, record) ? record : undefined;
    this.#endCycleIfComplete(cycle);
  }

  /** Called when an operator's decision has removed the record from its partition. */
  onRecordRemoved(record: BlockingRecord): void {
    if (isSameRecord(this.#latest, record)) this.#forget();
  }

  #onTransition({ to, figures }: CircuitTransition): void {
    switch (to) {
      case 'HALF_OPEN':
        if (!this.#cycle?.hadOneRecord) this.#forget();
        this.#cycle = { record: undefined, failures: 0, calls: undefined, hadOneRecord: false };
        return;
      case 'OPEN':
        if (!this.#cycle) return;
        this.#cycle.calls = figures.calls;
        return this.#endCycleIfComplete(this.#cycle);
      case 'CLOSED':
        this.#cycle = undefined;
        return this.#forget();
    }
  }

  /**
   * The last half-open call opens the circuit before its record is reported to this method, so the
   * cycle ends only after both.
   */
  #endCycleIfComplete(cycle: Cycle): void {
    const { record, failures, calls } = cycle;
    if (cycle.hadOneRecord || !record || failures !== calls) return;
    cycle.hadOneRecord = true;
    this.#cyclesInARow = isSameRecord(this.#latest, record) ? this.#cyclesInARow + 1 : 1;
    this.#latest = record;
    if (this.#cyclesInARow === CYCLES_BEFORE_REPORT) this.#log(record);
  }

  #forget(): void {
    this.#latest = undefined;
    this.#cyclesInARow = 0;
  }

  #log({ topic, partition, offset }: BlockingRecord): void {
    const { binding } = this;
    this.logger.error(
      `Record ${topic}-${partition}@${offset} alone had all trial calls of the circuit of binding '${binding}', ${CYCLES_BEFORE_REPORT} times in a row: no other record is tried. If its dependency is down for this record alone, let it go by connector.decide('${binding}', { topic: '${topic}', partition: ${partition}, offset: ${offset} }, 'dead-letter'), or 'skip'; else look at the dependencies of the handler.`,
      { binding, topic, partition, offset },
    );
  }
}

function isSameRecord(one: BlockingRecord | undefined, other: BlockingRecord): boolean {
  return (
    one?.topic === other.topic && one.partition === other.partition && one.offset === other.offset
  );
}

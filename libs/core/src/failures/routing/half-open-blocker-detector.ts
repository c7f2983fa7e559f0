import type { DriverLogger } from '@nest-event-bus/broker';
import type { CircuitBreaker, CircuitTransition } from '../../model/states/circuit-breaker.js';
import type { RecordPosition, HalfOpenBlocker } from '../../model/states/half-open-blocker.js';

/** As often in a row may be chance, or the outage itself. */
const CYCLES_BEFORE_REPORT = 3;

/** From one time that the circuit is half open to the next. */
interface Cycle {
  /** The only one so far that failed in its trial calls; undefined where there are several, or none. */
  record: RecordPosition | undefined;
  failures: number;
  /** Trial calls by which it was decided that the circuit opens again. */
  calls: number | undefined;
  hadOneRecord: boolean;
}

/**
 * A record that fails for a reason of its own can open its circuit, and then have all trial calls
 * for itself: nothing else of the binding is tried, and it waits for ever. Nobody but an operator
 * can tell that from an outage, so it is said to him which record that is.
 */
export class HalfOpenBlockerDetector implements HalfOpenBlocker {
  #cycle: Cycle | undefined;
  #latest: RecordPosition | undefined;
  #cyclesInARow = 0;

  /** The breaker belongs to the same binding, and goes with it: nobody has to end the subscription. */
  constructor(
    private readonly binding: string,
    breaker: Pick<CircuitBreaker, 'onTransition'>,
    private readonly logger: DriverLogger,
  ) {
    breaker.onTransition((transition) => this.#onTransition(transition));
  }

  get record(): RecordPosition | undefined {
    return this.#cyclesInARow >= CYCLES_BEFORE_REPORT ? this.#latest : undefined;
  }

  /** A call of it has failed, and it stays in its place. */
  onRecordKept({ topic, partition, offset }: RecordPosition): void {
    const cycle = this.#cycle;
    if (!cycle) return;
    const record = { topic, partition, offset };
    cycle.record =
      cycle.failures++ === 0 || isSameRecord(cycle.record, record) ? record : undefined;
    this.#endCycleIfComplete(cycle);
  }

  /** It has left its place, by decision of an operator. */
  onRecordRemoved(record: RecordPosition): void {
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

  /** The last trial call opens the circuit before its record comes here: only with both the cycle is over. */
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

  #log({ topic, partition, offset }: RecordPosition): void {
    const { binding } = this;
    this.logger.error(
      `Record ${topic}-${partition}@${offset} alone had all trial calls of the circuit of binding '${binding}', ${CYCLES_BEFORE_REPORT} times in a row: nothing else is tried. If what it needs is down for it alone, let it go by connector.decide('${binding}', { topic: '${topic}', partition: ${partition}, offset: ${offset} }, 'dead-letter'), or 'skip'; else look at what the handler depends on.`,
      { binding, topic, partition, offset },
    );
  }
}

function isSameRecord(one: RecordPosition | undefined, other: RecordPosition): boolean {
  return (
    one?.topic === other.topic && one.partition === other.partition && one.offset === other.offset
  );
}

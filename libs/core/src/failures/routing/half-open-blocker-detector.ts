import type { DriverLogger } from '@nest-event-bus/broker';
import type { CircuitBreaker, CircuitTransition } from '../../model/states/circuit-breaker.js';
import type { RecordPosition, HalfOpenBlocker } from '../../model/states/half-open-blocker.js';

/** Fewer cycles in a row may be chance, or the outage itself. */
const CYCLES_BEFORE_REPORT = 3;

/** A period in which the circuit is half open, and the decision after it. */
interface Cycle {
  /** The only record so far that failed in the half-open calls; undefined if there are several, or none. */
  record: RecordPosition | undefined;
  failures: number;
  /** Number of the half-open calls after which the circuit opened again. */
  calls: number | undefined;
  hadOneRecord: boolean;
}

/**
 * Finds a record that keeps its circuit from closing. A record that fails for a reason of its own can
 * open its circuit, and then use all half-open calls: no other record is tried, and the binding waits
 * for ever. Only an operator can tell that from an outage, so the log and health name the record.
 */
export class HalfOpenBlockerDetector implements HalfOpenBlocker {
  #cycle: Cycle | undefined;
  #latest: RecordPosition | undefined;
  #cyclesInARow = 0;

  /** The breaker belongs to the same binding and ends with it, so the subscription is never ended. */
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

  /** Called when a call of the record failed and the record stays in its place. */
  onRecordKept({ topic, partition, offset }: RecordPosition): void {
    const cycle = this.#cycle;
    if (!cycle) return;
    const record = { topic, partition, offset };
    cycle.record =
      cycle.failures++ === 0 || isSameRecord(cycle.record, record) ? record : undefined;
    this.#endCycleIfComplete(cycle);
  }

  /** Called when the record has left its place by decision of an operator. */
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

  /** The last half-open call opens the circuit before its record is reported here. Only both together end the cycle. */
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
      `Record ${topic}-${partition}@${offset} alone had all trial calls of the circuit of binding '${binding}', ${CYCLES_BEFORE_REPORT} times in a row: no other record is tried. If its dependency is down for this record alone, let it go by connector.decide('${binding}', { topic: '${topic}', partition: ${partition}, offset: ${offset} }, 'dead-letter'), or 'skip'; else look at the dependencies of the handler.`,
      { binding, topic, partition, offset },
    );
  }
}

function isSameRecord(one: RecordPosition | undefined, other: RecordPosition): boolean {
  return (
    one?.topic === other.topic && one.partition === other.partition && one.offset === other.offset
  );
}

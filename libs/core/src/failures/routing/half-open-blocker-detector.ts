import type { DriverLogger } from '@nest-event-bus/broker';
import type { CircuitBreaker, CircuitTransition } from '../../model/states/circuit-breaker.js';
import type { RecordPlace, TrialsOfOne } from '../../model/states/half-open-blocker.js';

/** As often in a row may be chance, or the outage itself. */
const CYCLES = 3;

/** From one time that the circuit is half open to the next. */
interface Cycle {
  /** The only one so far that failed in its trial calls; undefined where there are several, or none. */
  record: RecordPlace | undefined;
  failures: number;
  /** Trial calls by which it was decided that the circuit opens again. */
  calls: number | undefined;
  wasOfOne: boolean;
}

/**
 * A record that fails for a reason of its own can open its circuit, and then have all trial calls
 * for itself: nothing else of the binding is tried, and it waits for ever. Nobody but an operator
 * can tell that from an outage, so it is said to him which record that is.
 */
export class TrialWatch implements TrialsOfOne {
  #cycle: Cycle | undefined;
  #latest: RecordPlace | undefined;
  #inARow = 0;

  /** The breaker belongs to the same binding, and goes with it: nobody has to end the subscription. */
  constructor(
    private readonly binding: string,
    breaker: Pick<CircuitBreaker, 'onTransition'>,
    private readonly logger: DriverLogger,
  ) {
    breaker.onTransition((transition) => this.#follow(transition));
  }

  get record(): RecordPlace | undefined {
    return this.#inARow >= CYCLES ? this.#latest : undefined;
  }

  /** A call of it has failed, and it stays in its place. */
  stays({ topic, partition, offset }: RecordPlace): void {
    const cycle = this.#cycle;
    if (!cycle) return;
    const record = { topic, partition, offset };
    cycle.record = cycle.failures++ === 0 || isSame(cycle.record, record) ? record : undefined;
    this.#judge(cycle);
  }

  /** It has left its place, by decision of an operator. */
  leaves(record: RecordPlace): void {
    if (isSame(this.#latest, record)) this.#forget();
  }

  #follow({ to, figures }: CircuitTransition): void {
    switch (to) {
      case 'HALF_OPEN':
        if (!this.#cycle?.wasOfOne) this.#forget();
        this.#cycle = { record: undefined, failures: 0, calls: undefined, wasOfOne: false };
        return;
      case 'OPEN':
        if (!this.#cycle) return;
        this.#cycle.calls = figures.calls;
        return this.#judge(this.#cycle);
      case 'CLOSED':
        this.#cycle = undefined;
        return this.#forget();
    }
  }

  /** The last trial call opens the circuit before its record comes here: only with both the cycle is over. */
  #judge(cycle: Cycle): void {
    const { record, failures, calls } = cycle;
    if (cycle.wasOfOne || !record || failures !== calls) return;
    cycle.wasOfOne = true;
    this.#inARow = isSame(this.#latest, record) ? this.#inARow + 1 : 1;
    this.#latest = record;
    if (this.#inARow === CYCLES) this.#tell(record);
  }

  #forget(): void {
    this.#latest = undefined;
    this.#inARow = 0;
  }

  #tell({ topic, partition, offset }: RecordPlace): void {
    const { binding } = this;
    this.logger.error(
      `Record ${topic}-${partition}@${offset} alone had all trial calls of the circuit of binding '${binding}', ${CYCLES} times in a row: nothing else is tried. If what it needs is down for it alone, let it go by connector.decide('${binding}', { topic: '${topic}', partition: ${partition}, offset: ${offset} }, 'dead-letter'), or 'skip'; else look at what the handler depends on.`,
      { binding, topic, partition, offset },
    );
  }
}

function isSame(one: RecordPlace | undefined, other: RecordPlace): boolean {
  return (
    one?.topic === other.topic && one.partition === other.partition && one.offset === other.offset
  );
}

import type { Delivery } from '../model/delivery.js';
import { handedBack, isFinal, type Outcome, type RecordProcessor } from '../model/outcome.js';
import type { FailureRouter } from './failure-router.js';
import type { TierEntrance } from './tier-entrance.js';

export interface RoutedProcessorParts {
  /** What handles the records. */
  readonly inner: RecordProcessor;
  readonly router: Pick<FailureRouter, 'route' | 'carryOut'>;
  /** Of a retry topic. */
  readonly entrance?: TierEntrance;
}

const foreign: Outcome = Object.freeze({ kind: 'discarded', reason: 'foreign' });

/** Around everything that handles records: one that failed for good has gone its road before it counts as done. */
export function routed({ inner, router, entrance }: RoutedProcessorParts): RecordProcessor {
  const one = new RoutedProcessor(inner, router, entrance);
  const { processSlice } = inner;
  return {
    open: (sessionIndex) => inner.open?.(sessionIndex),
    close: async (sessionIndex) => inner.close?.(sessionIndex),
    process: (delivery) => one.process(delivery),
    ...(entrance && { dueAt: (record) => entrance.dueAt(record) }),
    ...(processSlice && {
      processSlice: (slice) =>
        new RoutedSlice(one, (stretch) => processSlice.call(inner, stretch)).process(slice),
    }),
  };
}

class RoutedProcessor {
  constructor(
    private readonly inner: RecordProcessor,
    private readonly router: Pick<FailureRouter, 'route' | 'carryOut'>,
    private readonly entrance: TierEntrance | undefined,
  ) {}

  process(delivery: Delivery): Outcome | Promise<Outcome> {
    if (this.isForRouterAlone(delivery)) return this.withoutHandler(delivery);
    const outcome = this.inner.process(delivery);
    return outcome instanceof Promise
      ? this.#finishLater(delivery, outcome)
      : this.finish(delivery, outcome);
  }

  /** Not to be handled, or handled before and not written to where it belongs. */
  isForRouterAlone({ record, decision, unrouted }: Delivery): boolean {
    return (
      decision !== undefined || unrouted !== undefined || this.entrance?.isForeign(record) === true
    );
  }

  withoutHandler(delivery: Delivery): Outcome | Promise<Outcome> {
    if (this.entrance?.isForeign(delivery.record)) return foreign;
    return delivery.decision === undefined
      ? this.router.route(delivery, delivery.unrouted!)
      : this.router.carryOut(delivery, delivery.decision);
  }

  finish(delivery: Delivery, outcome: Outcome): Outcome | Promise<Outcome> {
    return outcome.kind === 'failed' ? this.router.route(delivery, outcome) : outcome;
  }

  /** Not awaited: what an async function takes for itself is more than all that is done here. */
  #finishLater(delivery: Delivery, outcome: Promise<Outcome>): Promise<Outcome> {
    return outcome.then((settled) => this.finish(delivery, settled));
  }
}

/** One slice on its way: stretches for the handler, and records in between that it is not to see. */
class RoutedSlice {
  readonly #outcomes: Outcome[] = [];

  constructor(
    private readonly one: RoutedProcessor,
    private readonly handle: (
      stretch: readonly Delivery[],
    ) => readonly Outcome[] | Promise<readonly Outcome[]>,
  ) {}

  async process(slice: readonly Delivery[]): Promise<readonly Outcome[]> {
    while (this.#outcomes.length < slice.length && this.#outcomes.every(isFinal)) {
      const rest = slice.slice(this.#outcomes.length);
      const end = rest.findIndex((delivery) => this.one.isForRouterAlone(delivery));
      if (end === 0) this.#outcomes.push(await this.one.withoutHandler(rest[0]!));
      else await this.#handle(end === -1 ? rest : rest.slice(0, end));
    }
    return slice.map((_, index) => this.#outcomes[index] ?? handedBack);
  }

  /** What the handler did behind a record that failed stays done, wherever that one goes. */
  async #handle(stretch: readonly Delivery[]): Promise<void> {
    const [first = handedBack, ...others] = await this.handle(stretch);
    for (const [index, outcome] of [first, ...others].entries())
      this.#outcomes.push(await this.one.finish(stretch[index]!, outcome));
  }
}

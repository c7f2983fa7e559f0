import { needsNoCall } from '../../model/outcomes/delivery-history.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import {
  handedBack,
  isFinal,
  type Outcome,
  type RecordProcessor,
} from '../../model/outcomes/outcome.js';
import type { FailureRouter } from './failure-router.js';
import type { RetryTopicFilter } from '../retry-topics/retry-topic-filter.js';

export interface RoutedProcessorParts {
  /** What handles the records. */
  readonly inner: RecordProcessor;
  readonly router: Pick<FailureRouter, 'route' | 'routeWithoutCall'>;
  /** Of a retry topic. */
  readonly entrance?: RetryTopicFilter;
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
        new RoutedSlices(one, (stretch) => processSlice.call(inner, stretch)).process(slice),
    }),
  };
}

class RoutedProcessor {
  constructor(
    private readonly inner: RecordProcessor,
    private readonly router: Pick<FailureRouter, 'route' | 'routeWithoutCall'>,
    private readonly entrance: RetryTopicFilter | undefined,
  ) {}

  process(delivery: Delivery): Outcome | Promise<Outcome> {
    if (this.isForRouterAlone(delivery)) return this.withoutHandler(delivery);
    const outcome = this.inner.process(delivery);
    return outcome instanceof Promise
      ? this.#finishLater(delivery, outcome)
      : this.finish(delivery, outcome);
  }

  /** Not to be handled, or handled before and not written to where it belongs. */
  isForRouterAlone({ record, history }: Delivery): boolean {
    return needsNoCall(history) || this.entrance?.isForeign(record) === true;
  }

  withoutHandler(delivery: Delivery): Outcome | Promise<Outcome> {
    if (this.entrance?.isForeign(delivery.record)) return foreign;
    return this.router.routeWithoutCall(delivery) ?? handedBack;
  }

  finish(delivery: Delivery, outcome: Outcome): Outcome | Promise<Outcome> {
    return outcome.kind === 'failed' ? this.router.route(delivery, outcome) : outcome;
  }

  /** Not awaited: what an async function takes for itself is more than all that is done here. */
  #finishLater(delivery: Delivery, outcome: Promise<Outcome>): Promise<Outcome> {
    return outcome.then((settled) => this.finish(delivery, settled));
  }
}

/** Stretch by stretch: those for the handler, and records in between that it is not to see. */
class RoutedSlices {
  constructor(
    private readonly one: RoutedProcessor,
    private readonly handle: (
      stretch: readonly Delivery[],
    ) => readonly Outcome[] | Promise<readonly Outcome[]>,
  ) {}

  /** Of the first stretch only. */
  async process(slice: readonly Delivery[]): Promise<readonly Outcome[]> {
    const end = slice.findIndex((delivery) => this.one.isForRouterAlone(delivery));
    if (end === 0) return [await this.one.withoutHandler(slice[0]!)];
    const stretch = end === -1 ? slice : slice.slice(0, end);
    const handled = await this.handle(stretch);
    const outcomes: Outcome[] = [];
    // What the handler did behind a record that failed stays done, wherever that one goes.
    for (const [index, outcome] of handled.entries())
      outcomes.push(await this.one.finish(stretch[index]!, outcome));
    return outcomes.slice(0, endOf(handled, outcomes));
  }
}

/** The call ended where a record failed. Has that one left, those behind it need not wait for anything. */
function endOf(handled: readonly Outcome[], outcomes: readonly Outcome[]): number {
  const end = handled.findLastIndex((outcome) => !isLeft(outcome)) + 1;
  const hasFailed = handled.some(({ kind }) => kind === 'failed');
  return hasFailed && outcomes.slice(0, end).every(isFinal) ? end : outcomes.length;
}

/** Nobody has said when it is to come again. */
function isLeft(outcome: Outcome): boolean {
  return outcome.kind === 'handed-back' && outcome.delayMs === undefined;
}

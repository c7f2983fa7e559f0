import { handedBack, isFinal, type Outcome } from '../../model/outcomes/outcome.js';
import type { HandlerStep, RecordSource, SliceCall } from '../dispatch/handler-step.js';
import type { ReadyRecord } from '../dispatch/preparation.js';
import {
  RecordClaims,
  alreadyProcessed,
  type Claim,
  type RecordClaimsOptions,
} from './record-claims.js';

/** The key of an earlier record of its slice: whatever becomes of that one decides. */
interface DuplicateInSlice {
  readonly kind: 'repeats';
  readonly earlier: number;
}

type ClaimResult = Claim | DuplicateInSlice | Outcome;

/** Around breaker(retry(handler)): a record whose handler has succeeded does not reach it again. */
export class IdempotencyInterceptor implements HandlerStep {
  readonly #claims: RecordClaims;

  constructor(
    options: RecordClaimsOptions,
    private readonly next: HandlerStep,
  ) {
    this.#claims = new RecordClaims(options);
  }

  async invoke(ready: ReadyRecord, source: RecordSource): Promise<Outcome> {
    const key = this.#claims.keyOf(ready);
    if (typeof key !== 'string') return key;
    const claim = await this.#claims.claim(key, ready);
    if (claim.kind !== 'claimed') return claim;
    // A claim takes its time, and a pause promises that nothing reaches a handler after it.
    const outcome = ready.delivery.isCancelled ? handedBack : await this.next.invoke(ready, source);
    return this.#claims.settle(claim, outcome);
  }

  /** Up to the first record that has to wait; those behind it are not handled before it. */
  async invokeSlice(slice: readonly ReadyRecord[], call: SliceCall): Promise<readonly Outcome[]> {
    const entries = await this.#entriesOf(slice);
    const stop = entries.findIndex((entry) => !isPassable(entry));
    const claimed = (stop === -1 ? entries : entries.slice(0, stop)).filter(isClaim);
    const handled = await this.#handle(
      claimed.map(({ ready }) => ready),
      call,
    );
    const settled = await this.#settle(entries.filter(isClaim), handled);
    const outcomes: Outcome[] = [];
    for (const entry of entries) outcomes.push(outcomeOf(entry, settled, outcomes));
    return outcomes;
  }

  #entriesOf(slice: readonly ReadyRecord[]): Promise<readonly ClaimResult[]> {
    const first = new Map<string, number>();
    return Promise.all(
      slice.map(async (ready, index): Promise<ClaimResult> => {
        const key = this.#claims.keyOf(ready);
        if (typeof key !== 'string') return key;
        const earlier = first.get(key);
        if (earlier !== undefined) return { kind: 'repeats', earlier };
        first.set(key, index);
        return this.#claims.claim(key, ready);
      }),
    );
  }

  #handle(
    slice: readonly ReadyRecord[],
    call: SliceCall,
  ): readonly Outcome[] | Promise<readonly Outcome[]> {
    const [head] = slice;
    if (!head || head.delivery.isCancelled) return [];
    return this.next.invokeSlice(slice, call);
  }

  /** Those without an outcome were claimed and not handled. */
  async #settle(
    claims: readonly Claim[],
    outcomes: readonly Outcome[],
  ): Promise<ReadonlyMap<Claim, Outcome>> {
    return new Map(
      await Promise.all(
        claims.map(async (claim, index) => {
          const outcome = await this.#claims.settle(claim, outcomes[index] ?? handedBack);
          return [claim, outcome] as const;
        }),
      ),
    );
  }
}

function outcomeOf(
  entry: ClaimResult,
  settled: ReadonlyMap<Claim, Outcome>,
  before: readonly Outcome[],
): Outcome {
  switch (entry.kind) {
    case 'claimed':
      return settled.get(entry) ?? handedBack;
    case 'repeats':
      return isFinal(before[entry.earlier] ?? handedBack) ? alreadyProcessed : handedBack;
    default:
      return entry;
  }
}

function isClaim(entry: ClaimResult): entry is Claim {
  return entry.kind === 'claimed';
}

function isPassable(entry: ClaimResult): boolean {
  return entry.kind === 'claimed' || entry.kind === 'repeats' || isFinal(entry);
}

import { handedBack, isFinal, type Outcome } from '../../model/outcomes/outcome.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import {
  RecordClaims,
  alreadyProcessed,
  type Claim,
  type RecordClaimsOptions,
} from './record-claims.js';

/**
 * A record with the key of an earlier record of its slice. The outcome of the earlier one decides.
 */
interface DuplicateInSlice {
  readonly kind: 'repeats';
  readonly earlier: number;
}

type ClaimResult = Claim | DuplicateInSlice | Outcome;

/** Keeps a record from its handler if the handler has already succeeded with it. */
export class IdempotencyInterceptor implements PipelineStep {
  readonly #claims: RecordClaims;

  constructor(
    private readonly next: PipelineStep,
    options: RecordClaimsOptions,
  ) {
    this.#claims = new RecordClaims(options);
  }

  async process(call: RecordCall): Promise<Outcome> {
    const key = this.#claims.keyOf(call);
    if (typeof key !== 'string') return key;
    const claim = await this.#claims.claim(key, call);
    if (claim.kind !== 'claimed') return claim;
    // The claim took time. After a pause no record may reach a handler.
    const outcome = call.delivery.isCancelled ? handedBack : await this.next.process(call);
    return this.#claims.settle(claim, outcome);
  }

  /** Handles the records up to the first one that has to wait, so that no record overtakes it. */
  async processSlice(slice: readonly RecordCall[]): Promise<readonly Outcome[]> {
    const entries = await this.#entriesOf(slice);
    const stop = entries.findIndex((entry) => !isPassable(entry));
    const claimed = (stop === -1 ? entries : entries.slice(0, stop)).filter(isClaim);
    const handled = await this.#handle(claimed.map(({ call }) => call));
    const settled = await this.#settle(entries.filter(isClaim), handled);
    const outcomes: Outcome[] = [];
    for (const entry of entries) outcomes.push(outcomeOf(entry, settled, outcomes));
    return outcomes;
  }

  #entriesOf(slice: readonly RecordCall[]): Promise<readonly ClaimResult[]> {
    const first = new Map<string, number>();
    return Promise.all(
      slice.map(async (call, index): Promise<ClaimResult> => {
        const key = this.#claims.keyOf(call);
        if (typeof key !== 'string') return key;
        const earlier = first.get(key);
        if (earlier !== undefined) return { kind: 'repeats', earlier };
        first.set(key, index);
        return this.#claims.claim(key, call);
      }),
    );
  }

  #handle(slice: readonly RecordCall[]): readonly Outcome[] | Promise<readonly Outcome[]> {
    const [head] = slice;
    if (!head || head.delivery.isCancelled) return [];
    return this.next.processSlice(slice);
  }

  /** Releases the claims without an outcome: their records were not handled. */
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

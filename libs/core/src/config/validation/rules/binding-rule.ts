import type { ResolvedBinding } from '../../resolving/resolved-binding.js';

export interface Finding {
  /** Key to change, relative to the binding: `retry.tier0.maxAttempts`. */
  readonly key: string;
  readonly value: unknown;
  readonly message: string;
}

export interface RuleSubject {
  readonly binding: ResolvedBinding;
  /** True if there is a lifecycle manager, which a circuit breaker needs to pause the binding. */
  readonly canPause: boolean;
  /** True if successive tiers may have equal delays. */
  readonly equalTierDelays: boolean;
  /** Describes a value and its source: `sessionTimeoutMs is 20000 (from preset 'brokers')`. */
  readonly is: (key: string, value: unknown) => string;
}

/** A rule between several keys of one binding. */
export interface BindingRule {
  readonly rule: string;
  /** Keys that the rule reads. It is skipped if one of them is invalid. */
  readonly reads: readonly string[];
  readonly check: (subject: RuleSubject) => readonly Finding[];
}

import type { ResolvedBinding } from '../../resolving/resolved-binding.js';

export interface Finding {
  /** The key that is to be changed, below the binding: `retry.tier0.maxAttempts`. */
  readonly key: string;
  readonly value: unknown;
  readonly message: string;
}

export interface RuleSubject {
  readonly binding: ResolvedBinding;
  /** Whether a lifecycle manager is there that a circuit breaker can pause with. */
  readonly canPause: boolean;
  /** Whether tiers may wait equally long. */
  readonly equalTierDelays: boolean;
  /** `sessionTimeoutMs is 20000 (from preset 'brokers')` */
  readonly is: (key: string, value: unknown) => string;
}

/** What holds between several keys of one binding. */
export interface BindingRule {
  readonly rule: string;
  /** With one of these wrong in itself, the rule has nothing to say. */
  readonly reads: readonly string[];
  readonly check: (subject: RuleSubject) => readonly Finding[];
}

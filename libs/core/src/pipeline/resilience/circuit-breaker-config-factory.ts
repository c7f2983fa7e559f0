import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';

export type CircuitBreakerConfig = Readonly<
  Omit<ResolvedBinding['circuitBreaker'], 'enabled'> & { binding: string }
>;

/** Creates the configuration of a breaker from its binding. */
export class CircuitBreakerConfigFactory {
  /**
   * Returns undefined if the binding has no breaker. No breaker is then created, and records pass
   * without any cost.
   */
  create({
    name,
    circuitBreaker: { enabled, ...config },
  }: Pick<ResolvedBinding, 'name' | 'circuitBreaker'>): CircuitBreakerConfig | undefined {
    return enabled ? Object.freeze({ ...config, binding: name }) : undefined;
  }
}

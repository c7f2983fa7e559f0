import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';

export type CircuitBreakerConfig = Readonly<
  Omit<ResolvedBinding['circuitBreaker'], 'enabled'> & { binding: string }
>;

/** Creates the settings of a breaker from its binding. */
export class CircuitBreakerConfigFactory {
  /**
   * Returns undefined if the binding has no breaker. Then none is created, and its records pay
   * nothing for it.
   */
  create({
    name,
    circuitBreaker: { enabled, ...config },
  }: Pick<ResolvedBinding, 'name' | 'circuitBreaker'>): CircuitBreakerConfig | undefined {
    return enabled ? Object.freeze({ ...config, binding: name }) : undefined;
  }
}

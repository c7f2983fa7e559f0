import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';

export type CircuitBreakerConfig = Readonly<
  Omit<ResolvedBinding['circuitBreaker'], 'enabled'> & { binding: string }
>;

/** What a breaker needs of its binding. */
export class CircuitBreakerConfigFactory {
  /** undefined where the binding has none: then no breaker is built, and nothing is paid for one. */
  create({
    name,
    circuitBreaker: { enabled, ...config },
  }: Pick<ResolvedBinding, 'name' | 'circuitBreaker'>): CircuitBreakerConfig | undefined {
    return enabled ? Object.freeze({ ...config, binding: name }) : undefined;
  }
}

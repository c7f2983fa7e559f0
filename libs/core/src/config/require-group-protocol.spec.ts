import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';
import { resolvedOrders } from './configuration.spec-support.js';

const OF_THE_BROKER = {
  assignmentStrategy: 'range',
  sessionTimeoutMs: '60s',
  heartbeatIntervalMs: '5s',
} as const;

const refusalOf = (...given: Parameters<typeof resolvedOrders>): string => {
  try {
    resolvedOrders(...given);
    return '';
  } catch (error) {
    if (error instanceof ConfigurationValidationException) return error.message;
    throw error;
  }
};

describe("With groupProtocol 'consumer'", () => {
  it.each(Object.entries(OF_THE_BROKER))('%s is refused: the broker decides', (key, value) => {
    const message = refusalOf({ groupProtocol: 'consumer', [key]: value });
    expect(message).toContain(`bindings.orders.${key}: has no effect while groupProtocol is`);
    expect(message).toContain('group.consumer.');
  });

  it('they are refused as well where the binding says them and all bindings the protocol', () => {
    const defaults = { groupProtocol: 'consumer' } as const;
    expect(refusalOf({ sessionTimeoutMs: '60s' }, { defaults })).toContain('sessionTimeoutMs');
  });

  it('they may stay where all bindings have them in common, and where a preset says them', () => {
    const binding = resolvedOrders(
      { groupProtocol: 'consumer', preset: 'strategy' },
      { defaults: OF_THE_BROKER },
    );
    expect(binding).toMatchObject({ groupProtocol: 'consumer', sessionTimeoutMs: 60_000 });
  });

  it('nothing is refused that goes with the classic protocol', () => {
    expect(resolvedOrders(OF_THE_BROKER)).toMatchObject({ groupProtocol: 'classic' });
  });
});

import { complaintsOf, resolvedOrders } from '../configuration.spec-support.js';

const OF_THE_BROKER = {
  assignmentStrategy: 'range',
  sessionTimeoutMs: '60s',
  heartbeatIntervalMs: '5s',
} as const;

const complaints = (...given: Parameters<typeof resolvedOrders>) =>
  complaintsOf(() => resolvedOrders(...given));
const refused = (key: string, setting: string) =>
  `GROUP_PROTOCOL bindings.orders.${key}: has no effect while groupProtocol is 'consumer': the broker decides (${setting}). Leave it out, or set groupProtocol to 'classic'.`;

describe("requireGroupProtocol() with groupProtocol 'consumer'", () => {
  it.each([
    ['assignmentStrategy', 'group.consumer.assignors'],
    ['sessionTimeoutMs', 'group.consumer.session.timeout.ms'],
    ['heartbeatIntervalMs', 'group.consumer.heartbeat.interval.ms'],
  ] as const)('refuses %s, because the broker decides by %s', (key, setting) => {
    expect(complaints({ groupProtocol: 'consumer', [key]: OF_THE_BROKER[key] })).toEqual([
      refused(key, setting),
    ]);
  });

  it('refuses options of a binding if all bindings have the protocol', () => {
    const defaults = { groupProtocol: 'consumer' } as const;
    expect(complaints({ sessionTimeoutMs: '60s' }, { defaults })).toEqual([
      refused('sessionTimeoutMs', 'group.consumer.session.timeout.ms'),
    ]);
  });

  it('allows common options of all bindings and options of a preset', () => {
    const binding = resolvedOrders(
      { groupProtocol: 'consumer', preset: 'strategy' },
      { defaults: OF_THE_BROKER },
    );
    expect(binding).toMatchObject({ groupProtocol: 'consumer', sessionTimeoutMs: 60_000 });
  });

  it('refuses nothing with the classic protocol', () => {
    expect(resolvedOrders(OF_THE_BROKER)).toMatchObject({ groupProtocol: 'classic' });
  });
});

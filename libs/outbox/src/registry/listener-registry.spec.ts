import { defineAggregateTypes } from '../model/aggregate-type.js';
import { StringEventType } from '../model/event-type.js';
import { DefaultListenerRegistry } from './listener-registry.js';

const listener = { onEvent: () => undefined };

describe('DefaultListenerRegistry', () => {
  it('finds a listener by exactly its aggregate type and event type', () => {
    const registry = new DefaultListenerRegistry().register('ORDER', 'CREATED', listener);
    expect(registry.listenerFor('ORDER', 'CREATED')).toBe(listener);
    expect(registry.listenerFor('ORDER', 'DELETED')).toBeNull();
    expect(registry.listenerFor('USER', 'CREATED')).toBeNull();
  });

  it('registers a listener without an aggregate type as global, and gives it no events of others', () => {
    const registry = new DefaultListenerRegistry().register('CREATED', listener);
    expect(registry.listenerFor('__GLOBAL__', 'CREATED')).toBe(listener);
    expect(registry.listenerFor('ORDER', 'CREATED')).toBeNull();
  });

  it('accepts types instead of names', () => {
    const { ORDER } = defineAggregateTypes('ORDER');
    const registry = new DefaultListenerRegistry();
    registry.register(ORDER, StringEventType.of('CREATED'), listener);
    expect(registry.listenerFor('ORDER', 'CREATED')).toBe(listener);
  });

  it('refuses a second listener of the same types', () => {
    const registry = new DefaultListenerRegistry().register('ORDER', 'CREATED', listener);
    expect(() => registry.register('ORDER', 'CREATED', listener)).toThrow(
      expect.objectContaining({ code: 'ILLEGAL_STATE' }),
    );
  });
});

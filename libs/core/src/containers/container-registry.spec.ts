import {
  AmbiguousBindingException,
  BindingAlreadyExistsException,
  BindingNotConsumedException,
  BindingNotFoundException,
} from '../errors/container-errors.js';
import { binding, busWith } from './bus-test-bed.spec-support.js';
import type { RegistryChange } from './container-registry.js';

describe('ContainerRegistry', () => {
  it('rejects a second binding with the same name on one cluster, and accepts it on another', () => {
    const { add } = busWith();
    add();
    expect(() => add()).toThrow(BindingAlreadyExistsException);
    expect(() => add(binding('orders', { cluster: 'eu' }))).not.toThrow();
  });

  it('finds a binding by its name if only one cluster has it, and always by name and cluster', () => {
    const { registry, add } = busWith();
    add(binding('orders', { cluster: 'eu' }));
    expect(registry.get('orders')?.key).toBe('eu:orders');
    add();
    expect(() => registry.get('orders')).toThrow(AmbiguousBindingException);
    expect(() => registry.get('orders')).toThrow(/\{ cluster: 'eu', name: 'orders' \}/);
    expect(registry.get({ cluster: 'default', name: 'orders' })?.key).toBe('default:orders');
  });

  it('throws for a binding that is not registered', () => {
    const { registry, add } = busWith();
    add();
    expect(registry.get('payments')).toBeUndefined();
    expect(registry.get({ cluster: 'eu', name: 'orders' })).toBeUndefined();
    expect(registry.get('toString')).toBeUndefined();
    expect(() => registry.require('payments')).toThrow(BindingNotFoundException);
    expect(() => registry.require('payments')).toThrow(/Registered are: orders/);
  });

  it('returns a binding that is unregistered, and does not stop its containers', async () => {
    const { registry, lifecycle, add, sessions } = busWith();
    add();
    await lifecycle.start('orders');
    const was = registry.unregister('orders');
    expect(was.state).toBe('RUNNING');
    expect(registry.listAll()).toEqual([]);
    expect(sessions.open).toHaveLength(1);
    expect(() => registry.unregister('orders')).toThrow(BindingNotFoundException);
    await was.mainContainer.close();
  });

  it('says of a binding without a handler that it is only published to, on its cluster', () => {
    const { registry } = busWith();
    registry.setPublished([{ binding: 'audit', cluster: 'eu', topic: 'audit' }]);
    expect(() => registry.require('audit')).toThrow(BindingNotConsumedException);
    expect(() => registry.require({ cluster: 'eu', name: 'audit' })).toThrow(
      BindingNotConsumedException,
    );
    for (const other of [
      { cluster: 'us', name: 'audit' },
      { cluster: 'eu', name: 'other' },
    ])
      expect(() => registry.require(other)).toThrow(BindingNotFoundException);
  });

  it('finds all bindings of a topic', () => {
    const { registry, add } = busWith();
    add(binding('billing', { topic: 'orders.events' }));
    add(binding('shipping', { topic: 'orders.events' }));
    add(binding('payments'));
    const found = registry.getByTopic('orders.events');
    expect(found.map(({ bindingName }) => bindingName)).toEqual(['billing', 'shipping']);
    expect(registry.getByTopic('nothing')).toEqual([]);
    expect(registry.getByTopic('orders')).toEqual([]);
  });

  it('returns frozen lists and frozen registrations', () => {
    const { registry, add } = busWith();
    const record = add();
    const list = registry.listAll();
    registry.updateState('orders', { state: 'RUNNING' });
    expect(record.state).toBe('CREATED');
    expect(list[0]?.state).toBe('CREATED');
    expect(Object.isFrozen(list)).toBe(true);
    for (const one of [record, registry.require('orders')]) expect(Object.isFrozen(one)).toBe(true);
    expect(Object.isFrozen(registry.require('orders').pauses)).toBe(true);
  });

  it('replaces a registration in one step, and remembers since when it has its state', async () => {
    const { registry, runtime, add } = busWith();
    add();
    await runtime.advance(1_000);
    const running = registry.updateState('orders', { state: 'RUNNING' });
    await runtime.advance(1_000);
    const paused = registry.updateState('orders', { state: 'PAUSED', pauses: ['circuit'] });
    await runtime.advance(1_000);
    const still = registry.updateState('orders', { pauses: ['circuit', 'operator'] });
    expect([running.since, paused.since, still.since]).toEqual([
      runtime.now() - 2_000,
      runtime.now() - 1_000,
      runtime.now() - 1_000,
    ]);
    expect(registry.require('orders')).toBe(still);
  });

  it('notifies listeners until they unsubscribe, even if one of them throws', () => {
    const { registry, logger, build } = busWith();
    const seen: string[] = [];
    const tell = (change: RegistryChange): void =>
      void seen.push(
        change.kind === 'updated'
          ? `${change.previous.state} to ${change.registration.state}`
          : change.kind,
      );
    registry.onChange(() => {
      throw new Error('not our fault');
    });
    const unsubscribe = registry.onChange(tell);
    registry.register(build(binding()));
    registry.updateState('orders', { state: 'RUNNING' });
    registry.unregister('orders');
    unsubscribe();
    registry.register(build(binding()));
    expect(seen).toEqual(['registered', 'CREATED to RUNNING', 'unregistered']);
    expect(logger.lines).toHaveLength(4);
  });
});

import type { CircuitTransition } from '../model/states/circuit-breaker.js';
import { BindingCounters } from './binding-counters.js';

const main = { topic: 'orders', tier: 0 };
const first = { topic: 'orders.retry-1', tier: 1 };

describe('BindingCounters', () => {
  it('counts each combination of labels separately', () => {
    const counters = new BindingCounters(undefined);
    counters.failed(main, 'TypeError');
    counters.failed(main, 'TypeError');
    counters.failed(first, 'TypeError');
    counters.retried(main, 1);
    counters.deadLettered(first, 'RETRIES_EXHAUSTED', 'exhausted');
    expect(counters.failures).toEqual([
      { labels: { topic: 'orders', tier: '0', exception: 'TypeError' }, value: 2 },
      { labels: { topic: 'orders.retry-1', tier: '1', exception: 'TypeError' }, value: 1 },
    ]);
    expect(counters.retries).toEqual([
      { labels: { topic: 'orders', tier: '0', to: '1' }, value: 1 },
    ]);
    expect(counters.deadLetters).toEqual([
      {
        labels: {
          topic: 'orders.retry-1',
          tier: '1',
          reason: 'RETRIES_EXHAUSTED',
          cause: 'exhausted',
        },
        value: 1,
      },
    ]);
  });

  it('keeps 50 class names of errors, and counts all later ones as "other", in every tier', () => {
    const counters = new BindingCounters(undefined);
    for (let index = 0; index < 1_000; index++) counters.failed(main, `Error${index}`);
    counters.failed(first, 'Error999');
    counters.failed(first, 'Error0');
    expect(counters.failures).toHaveLength(53);
    expect(counters.failures.slice(50)).toEqual([
      { labels: { topic: 'orders', tier: '0', exception: 'other' }, value: 950 },
      { labels: { topic: 'orders.retry-1', tier: '1', exception: 'other' }, value: 1 },
      { labels: { topic: 'orders.retry-1', tier: '1', exception: 'Error0' }, value: 1 },
    ]);
  });

  it('returns a snapshot that does not change afterwards', () => {
    const counters = new BindingCounters(undefined);
    counters.retried(main, 1);
    const kept = counters.retries;
    counters.retried(main, 1);
    expect([kept[0]?.value, counters.retries[0]?.value]).toEqual([1, 2]);
  });

  it('counts the transitions of the circuit breaker', () => {
    const listeners: ((transition: CircuitTransition) => void)[] = [];
    const counters = new BindingCounters({
      onTransition: (listener) => {
        listeners.push(listener);
        return () => undefined;
      },
    });
    const opened = { from: 'CLOSED', to: 'OPEN', cause: 'failure-rate' } as const;
    for (const listener of listeners)
      listener({ ...opened, figures: { calls: 4, failures: 4, slow: 0 }, at: 0 });
    expect(counters.transitions).toEqual([{ labels: opened, value: 1 }]);
  });
});

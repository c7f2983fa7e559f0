import type { CircuitTransition } from '../model/states/circuit-breaker.js';
import { BindingCounters } from './binding-counters.js';

const main = { topic: 'orders', tier: 0 };
const first = { topic: 'orders.retry-1', tier: 1 };

describe('The counters of a binding', () => {
  it('count each combination of labels by itself', () => {
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

  it('name 50 classes of errors, and call all that come later "other", in every tier', () => {
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

  it('give what was counted so far: a list that somebody keeps does not change under him', () => {
    const counters = new BindingCounters(undefined);
    counters.retried(main, 1);
    const kept = counters.retries;
    counters.retried(main, 1);
    expect([kept[0]?.value, counters.retries[0]?.value]).toEqual([1, 2]);
  });

  it('follow the circuit breaker', () => {
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

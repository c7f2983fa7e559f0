import type { EventBusEvent } from '../model/events/event-bus-events.js';
import { aFailedRecord } from '../model/events/events.spec-support.js';
import { BindingCounters } from './binding-counters.js';

const main = { topic: 'orders', tier: 0 };
const first = { topic: 'orders.retry-1', tier: 1 };

let counters: BindingCounters;

beforeEach(() => {
  counters = new BindingCounters();
});

const failed = (place: typeof main, className: string): void =>
  counters.observe(aFailedRecord({ ...place, className }));

/** An event about a failed record, as another event. */
const other = (place: typeof main, event: object): EventBusEvent => ({
  ...aFailedRecord(place),
  ...event,
});

describe('BindingCounters', () => {
  it('counts each combination of labels separately', () => {
    failed(main, 'TypeError');
    failed(main, 'TypeError');
    failed(first, 'TypeError');
    counters.observe(other(main, { name: 'record.retried', tier: 1 }));
    const letter = { reason: 'RETRIES_EXHAUSTED', cause: 'exhausted' };
    counters.observe(other(first, { name: 'record.dead-lettered', ...letter }));
    expect(counters.failures).toEqual([
      { labels: { topic: 'orders', tier: '0', exception: 'TypeError' }, value: 2 },
      { labels: { topic: 'orders.retry-1', tier: '1', exception: 'TypeError' }, value: 1 },
    ]);
    expect(counters.retries).toEqual([
      { labels: { topic: 'orders', tier: '0', to: '1' }, value: 1 },
    ]);
    expect(counters.deadLetters).toEqual([
      { labels: { topic: 'orders.retry-1', tier: '1', ...letter }, value: 1 },
    ]);
  });

  it('counts a delivery once, however many of its calls have failed', () => {
    const next = { kind: 'call-again', call: 2, of: 3, inMs: 200 } as const;
    counters.observe(aFailedRecord({ next }));
    counters.observe(aFailedRecord({}));
    expect(counters.failures).toMatchObject([{ value: 1 }]);
  });

  it('keeps 50 class names of errors over all tiers, and counts all later ones as "other"', () => {
    for (let index = 0; index < 1_000; index++) failed(main, `Error${index}`);
    failed(first, 'Error999');
    failed(first, 'Error0');
    expect(counters.failures).toHaveLength(53);
    expect(counters.failures.slice(50)).toEqual([
      { labels: { topic: 'orders', tier: '0', exception: 'other' }, value: 950 },
      { labels: { topic: 'orders.retry-1', tier: '1', exception: 'other' }, value: 1 },
      { labels: { topic: 'orders.retry-1', tier: '1', exception: 'Error0' }, value: 1 },
    ]);
  });

  it('returns a snapshot that does not change afterwards', () => {
    const retried = other(main, { name: 'record.retried', tier: 1 });
    counters.observe(retried);
    const kept = counters.retries;
    counters.observe(retried);
    expect([kept[0]?.value, counters.retries[0]?.value]).toEqual([1, 2]);
  });

  it('counts the transitions of the circuit breaker', () => {
    const opened = { from: 'CLOSED', to: 'OPEN', cause: 'failure-rate' };
    counters.observe(other(main, { name: 'circuit.changed', ...opened }));
    expect(counters.transitions).toEqual([{ labels: opened, value: 1 }]);
  });
});

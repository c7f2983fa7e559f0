import { ineffectiveOptions } from './ineffective-options.js';
import type { OutboxMode, OutboxModuleOptions } from './outbox-options.js';

const database = {} as OutboxModuleOptions['database'];
const told = (options: Partial<OutboxModuleOptions>): readonly (string | undefined)[] =>
  ineffectiveOptions({ database, ...options }).map((line) => /option (\w+)/.exec(line)?.[1]);

describe('The options of OutboxModule', () => {
  const all: Partial<OutboxModuleOptions> = {
    claimTimeoutMs: 1,
    leased: {},
    workerCount: 1,
    maxAttempts: 1,
    retryPolicy: {} as never,
    skipRecentMs: 1,
    intervalMs: 1,
    batchSize: 1,
    drainTimeoutMs: 1,
    interceptors: [],
    metrics: {} as never,
    routes: [],
  };

  it.each<[OutboxMode, readonly string[]]>([
    ['singleNode', ['claimTimeoutMs', 'leased']],
    ['multiNode', ['leased']],
    ['ordered', ['claimTimeoutMs', 'leased', 'workerCount', 'maxAttempts', 'retryPolicy']],
    ['leased', ['claimTimeoutMs', 'skipRecentMs']],
    ['writerOnly', Object.keys(all)],
  ])('that have no effect with the mode %s are told', (mode, expected) => {
    expect(told({ mode, ...all })).toEqual(expected);
    expect(told({ mode })).toEqual([]);
  });

  it('are told if a store of your own replaces their effect', () => {
    expect(told({ store: {} as never, storeOptions: {} })).toEqual(['storeOptions']);
    expect(told({ storeOptions: {} })).toEqual([]);
  });
});

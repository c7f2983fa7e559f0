import { Deferred, type VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { type Outcome, type RecordProcessor, succeeded } from '../../model/outcomes/outcome.js';
import type { ConsumingSettings } from '../session/consuming-session.js';
import { ConsumingTestBed, upTo } from '../session/consuming-test-bed.spec-support.js';

const SESSION_MS = 6_000;
const RECORDS = 12;

const byKey = { by: 'key', maxConcurrency: 3 } as const;
const MODES: readonly (readonly [string, Partial<ConsumingSettings>, isSliced?: boolean])[] = [
  ['by partition', {}],
  ['by partition, with strict commits', { strictCommits: true }],
  ['by key', { processing: byKey }],
  ['without order', { processing: { by: 'none', maxConcurrency: 3 } }],
  ['in slices', { listenerType: 'BATCH', maxPollRecords: 3 }, true],
  ['in transactions', { isTransactional: true }],
];
const CASES = (['classic', 'consumer'] as const).flatMap((groupProtocol) =>
  MODES.map(([mode, settings, isSliced]) => ({ groupProtocol, mode, settings, isSliced })),
);

/** Handlers that end when the test says so. Each one begins at a time of the monotonic clock. */
class GatedHandlers {
  readonly begun: { readonly offset: number; readonly at: number }[] = [];
  #gate = new Deferred();
  isOpen = false;

  constructor(private readonly runtime: VirtualRuntime) {}

  async handle({ record: { offset } }: Delivery): Promise<Outcome> {
    this.begun.push({ offset, at: this.runtime.monotonic() });
    if (!this.isOpen) await this.#gate.promise;
    return succeeded;
  }

  readonly processor: RecordProcessor = {
    process: (delivery) => this.handle(delivery),
    processSlice: async (slice) => [await this.handle(slice[0] as Delivery)],
  };

  open(): void {
    this.isOpen = true;
    this.#gate.resolve();
  }
}

describe('A process that was suspended for longer than its session', () => {
  it.each(CASES)(
    'begins no handler before the group has answered again ($groupProtocol, $mode)',
    async ({ groupProtocol, settings, isSliced }) => {
      const testBed = await ConsumingTestBed.of(1, { consumerSessionTimeoutMs: SESSION_MS });
      const { runtime } = testBed;
      const handlers = new GatedHandlers(runtime);
      const { process } = handlers.processor;
      await testBed.writeKeys(upTo(RECORDS).map(String));
      await testBed.started(undefined, {
        settings,
        consumer: { groupProtocol },
        processor: isSliced ? handlers.processor : { process },
      });
      await testBed.until(() => handlers.begun.length > 0);
      const before = handlers.begun.length;
      runtime.suspend(SESSION_MS + 1);
      handlers.open();
      await runtime.settle();
      expect(handlers.begun).toHaveLength(before);
      await testBed.untilCommitted(RECORDS);
      const offsets = new Set(handlers.begun.map(({ offset }) => offset));
      expect([...offsets].sort((a, b) => a - b)).toEqual(upTo(RECORDS));
      await testBed.end();
    },
  );

  it.each(CASES)(
    'goes on at once if it was suspended for less ($groupProtocol, $mode)',
    async ({ groupProtocol, settings, isSliced }) => {
      const testBed = await ConsumingTestBed.of(1, { consumerSessionTimeoutMs: SESSION_MS });
      const handlers = new GatedHandlers(testBed.runtime);
      const { process } = handlers.processor;
      await testBed.writeKeys(upTo(RECORDS).map(String));
      await testBed.started(undefined, {
        settings,
        consumer: { groupProtocol },
        processor: isSliced ? handlers.processor : { process },
      });
      await testBed.until(() => handlers.begun.length > 0);
      const before = handlers.begun.length;
      testBed.runtime.suspend(SESSION_MS / 2);
      handlers.open();
      await testBed.runtime.settle();
      expect(handlers.begun.length).toBeGreaterThan(before);
      await testBed.untilCommitted(RECORDS);
      await testBed.end();
    },
  );
});

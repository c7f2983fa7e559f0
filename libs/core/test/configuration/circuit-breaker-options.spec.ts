import { Injectable } from '@nestjs/common';
import { sleep } from '@nest-event-bus/broker/runtime';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const SECOND = 1_000;

let testBus: TestBus;

/** A call that succeeds, that fails, or that succeeds after so many seconds. */
type Call = 'good' | 'bad' | number;

@Injectable()
class Orders {
  @EventHandler('orders')
  async onOrder({ value: payload }: EventRecord<Call>): Promise<void> {
    if (typeof payload === 'number') await sleep(testBus.runtime, payload * SECOND);
    if (payload === 'bad') throw new Error('nobody has seen this before');
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  await testBus.topic('orders');
  await testBus.topic('orders.DLT');
});

afterEach(() => testBus.end());

const times = (count: number, call: Call): readonly Call[] =>
  Array.from({ length: count }, () => call);

/** Returns the state of the circuit after these calls, and some seconds. */
async function stateAfter(
  circuitBreaker: object,
  calls: readonly Call[],
  later: { readonly seconds?: number; readonly calls?: readonly Call[] } = {},
): Promise<string | undefined> {
  const retry = { tiers: [], tier0: { maxAttempts: 1 } };
  const application = await testBus.startOrders([Orders], { retry, circuitBreaker });
  await writeAndHandle(calls);
  if (later.seconds) await testBus.runtime.advance(later.seconds * SECOND);
  await writeAndHandle(later.calls ?? []);
  return application.get(ContainerRegistry).require('orders').circuitBreaker.current?.state;
}

async function writeAndHandle(calls: readonly Call[]): Promise<void> {
  for (const call of calls) {
    await testBus.write('orders', JSON.stringify(call));
    await testBus.runtime.advance(typeof call === 'number' ? call * SECOND : 0);
  }
}

describe('circuitBreaker', () => {
  it.each<[string, object, readonly Call[]]>([
    [
      'failureRateThreshold',
      { failureRateThreshold: 20 },
      [...times(8, 'good'), ...times(2, 'bad')],
    ],
    ['slowCallRateThreshold', { slowCallRateThreshold: 20 }, [...times(8, 'good'), 6, 6]],
    ['slowCallDurationMs', { slowCallDurationMs: '1s' }, times(10, 2)],
    ['slidingWindowSize', { slidingWindowSize: 10 }, [...times(10, 'good'), ...times(5, 'bad')]],
    ['minimumNumberOfCalls', { minimumNumberOfCalls: 2 }, times(2, 'bad')],
  ])('%s decides whether the circuit opens', async (_key, options, calls) => {
    expect(await stateAfter(options, calls)).toBe('OPEN');
  });

  it.each<[string, readonly Call[]]>([
    ['failures', [...times(8, 'good'), ...times(2, 'bad')]],
    ['slow calls', [...times(8, 'good'), 6, 6]],
    ['calls of two seconds', times(10, 2)],
    ['late failures', [...times(10, 'good'), ...times(5, 'bad')]],
    ['few calls', times(2, 'bad')],
  ])('stays closed with the default options after the same %s', async (_what, calls) => {
    expect(await stateAfter({}, calls)).toBe('CLOSED');
  });

  it.each([
    ['5s', 'HALF_OPEN'],
    ['60s', 'OPEN'],
  ])('waitDurationInOpenStateMs %s ends the open state', async (wait, state) => {
    const options = { waitDurationInOpenStateMs: wait };
    expect(await stateAfter(options, times(10, 'bad'), { seconds: 10 })).toBe(state);
  });

  it.each([
    [2, 'CLOSED'],
    [5, 'HALF_OPEN'],
  ])(
    'permittedNumberOfCallsInHalfOpenState %i decides when it closes',
    async (permittedNumberOfCallsInHalfOpenState, state) => {
      const options = { permittedNumberOfCallsInHalfOpenState };
      const later = { seconds: 61, calls: times(2, 'good') };
      expect(await stateAfter(options, times(10, 'bad'), later)).toBe(state);
    },
  );
});

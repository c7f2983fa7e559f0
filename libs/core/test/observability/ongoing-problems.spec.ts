import { Injectable, UseGuards } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { ConsumerResult } from '../../src/model/outcomes/consumer-result.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const MINUTE = 60_000;

let testBus: TestBus;
/** What the handler under test does. */
let handle: (record: EventRecord | readonly EventRecord[], context?: unknown) => unknown;
let mayPass: boolean;

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(record: EventRecord, context: EventContext): unknown {
    return handle(record, context);
  }
}

@Injectable()
class Batches {
  @EventHandler.Batch('orders')
  handle(records: readonly EventRecord[], contexts: readonly EventContext[]): unknown {
    return handle(records, contexts);
  }
}

@Injectable()
class Guarded {
  @EventHandler('orders')
  @UseGuards({ canActivate: () => mayPass })
  handle(): void {}
}

beforeEach(async () => {
  testBus = new TestBus();
  handle = () => undefined;
  mayPass = true;
  await testBus.topic('orders');
  await testBus.failureTopics();
});

afterEach(() => testBus.end());

const linesWith = (lines: readonly string[], text: string): readonly string[] =>
  lines.filter((line) => line.includes(text));
const warningsWith = (text: string) => linesWith(testBus.log.warnings, text);
const infosWith = (text: string) => linesWith(testBus.log.infos, text);

function healthOf(application: TestingModule): string {
  const { status, bindings } = testBus.health(application);
  return `${status} ${bindings.flatMap(({ reasons }) => reasons).join()}`;
}

/** Writes a record every ten seconds. */
async function writeFor(minutes: number): Promise<void> {
  for (let times = 0; times < 6 * minutes; times++) {
    await testBus.write('orders', String(times));
    await testBus.runtime.advance(9_900);
  }
}

describe('A guard that refuses', () => {
  it('is logged at once, then once a minute, and once more when it has let the record pass', async () => {
    mayPass = false;
    const application = await testBus.startOrders([Guarded]);
    await testBus.write('orders', '1');
    expect(warningsWith('A guard of Guarded.handle')).toEqual([
      expect.stringContaining('Correct the guard, or remove it from the handler.'),
    ]);
    expect(healthOf(application)).toMatch(/^DEGRADED .*A guard of Guarded.handle .* refused/);
    await testBus.runtime.advance(5 * MINUTE);
    expect(warningsWith('A guard of Guarded.handle')).toHaveLength(6);
    mayPass = true;
    await testBus.runtime.advance(3 * MINUTE);
    expect(infosWith('was refused by this guard')).toHaveLength(1);
    expect(healthOf(application)).toBe('UP ');
  });
});

describe('A handler that does not acknowledge its record', () => {
  it("is logged with ack: 'manual' from the second delivery of the record until it is acknowledged", async () => {
    let acknowledges = false;
    handle = (_, context) => {
      if (acknowledges) (context as EventContext).acknowledge();
    };
    const application = await testBus.startOrders([Orders], { ack: 'manual' });
    await testBus.write('orders', '1');
    expect(warningsWith('ended without acknowledge()')).toEqual([]);
    await testBus.runtime.advance(2_000);
    expect(warningsWith('ended without acknowledge()')).toEqual([
      expect.stringContaining('call ctx.acknowledge() before the handler ends'),
    ]);
    expect(healthOf(application)).toMatch(/^DEGRADED a handler ended without acknowledge\(\)/);
    await testBus.runtime.advance(5 * MINUTE);
    expect(warningsWith('ended without acknowledge()')).toHaveLength(6);
    acknowledges = true;
    await testBus.runtime.advance(3 * MINUTE);
    expect(infosWith('ended without acknowledge()')).toHaveLength(1);
    expect(healthOf(application)).toBe('UP ');
  });

  it('is not logged if it asks for another delivery', async () => {
    handle = (_, context) => (context as EventContext).handBack();
    await testBus.startOrders([Orders], { ack: 'manual' });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(MINUTE);
    expect(testBus.log.warnings).toEqual([
      'SIGTERM has no listener: the process would end without draining the event bus. Call app.enableShutdownHooks().',
    ]);
  });
});

describe('A handler whose answer is probably a mistake', () => {
  it.each([
    ['returns false', Orders, () => false, 'returned false', 'throw an error'],
    [
      'returns promises',
      Orders,
      () => [Promise.resolve()],
      'returned an array of promises',
      'Return Promise.all',
    ],
    ['returns false for a batch', Batches, () => false, 'returned false', 'throw an error'],
    [
      'returns promises for a batch',
      Batches,
      (records: unknown) => (records as readonly unknown[]).map(async () => undefined),
      'returned an array of promises',
      'Return Promise.all',
    ],
  ])(
    'is logged at once, then once a minute, until it ends, if it %s: the record is done',
    async (_, host, answer, what, remedy) => {
      const application = await testBus.startOrders([host]);
      handle = answer;
      await testBus.write('orders', '1');
      expect(warningsWith(what)).toEqual([expect.stringContaining(remedy)]);
      expect(healthOf(application)).toMatch(new RegExp(`^DEGRADED a handler ${what}`));
      await writeFor(3);
      expect(warningsWith(what)).toHaveLength(4);
      expect(await testBus.committed()).toBe(19);
      handle = () => undefined;
      await writeFor(2);
      expect(infosWith(what)).toHaveLength(1);
      expect(healthOf(application)).toBe('UP ');
    },
  );

  it('is logged if a batch handler returns fewer results than records', async () => {
    await testBus.write('orders', '1', '2', '3');
    handle = () => [ConsumerResult.success()];
    const application = await testBus.startOrders([Batches]);
    expect(warningsWith('another number of results')).toEqual([
      expect.stringContaining('Return one result per record'),
    ]);
    expect(warningsWith('"results":1,"records":3')).toHaveLength(1);
    expect(healthOf(application)).toMatch(/^DEGRADED .*another number of results/);
  });

  it.each([
    ['nothing', undefined],
    ['true', true],
    ['null', null],
    ['an empty array', []],
    ['a result', ConsumerResult.success()],
    ['an array of values', [1, 2]],
    ['an object with a promise', { lazy: Promise.resolve() }],
  ])('is not logged if it returns %s', async (_, answer) => {
    const application = await testBus.startOrders([Orders]);
    handle = () => answer;
    await testBus.write('orders', '1');
    expect(warningsWith('handler')).toEqual([]);
    expect(healthOf(application)).toBe('UP ');
  });

  it('does not fail its record if the answer cannot be read', async () => {
    await testBus.startOrders([Orders]);
    const get = (target: object, key: PropertyKey): unknown => {
      if (key === '0') throw new Error('not readable');
      return Reflect.get(target, key);
    };
    handle = () => new Proxy([1], { get });
    await testBus.write('orders', '1');
    expect(await testBus.committed()).toBe(1);
  });
});

describe('An open circuit', () => {
  const breaker = (automaticPauseOnOpen: boolean) => ({
    circuitBreaker: {
      automaticPauseOnOpen,
      minimumNumberOfCalls: 2,
      slidingWindowSize: 2,
      waitDurationInOpenStateMs: 10 * MINUTE,
    },
    retry: { tier0: { maxAttempts: 1 } },
  });

  it.each([
    [false, /^DEGRADED the circuit is open: records fail without a call/],
    [true, /^DEGRADED paused: circuit$/],
  ])('degrades health with automaticPauseOnOpen %s', async (automaticPauseOnOpen, reason) => {
    handle = () => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const application = await testBus.startOrders([Orders], breaker(automaticPauseOnOpen));
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(5_000);
    expect(healthOf(application)).toMatch(reason);
  });
});

describe('A missing topic', () => {
  const remove = (...names: string[]) => testBus.done(testBus.outside.admin().deleteTopics(names));

  it('is logged once a minute if it is the dead-letter topic, until it exists', async () => {
    await remove('orders.DLT');
    const application = await testBus.startOrders([Orders]);
    const told = () => warningsWith("dead-letter topic 'orders.DLT'");
    expect(told()).toHaveLength(1);
    expect(healthOf(application)).toBe(
      "DEGRADED the dead-letter topic 'orders.DLT' does not exist",
    );
    await testBus.runtime.advance(5 * MINUTE);
    expect(told()).toHaveLength(6);
    await testBus.topic('orders.DLT');
    await testBus.runtime.advance(10_000);
    expect(infosWith("dead-letter topic 'orders.DLT' of binding 'orders' exists")).toHaveLength(1);
    expect(healthOf(application)).toBe('UP ');
  });

  it('is logged if it is the dead-letter topic and the brokers return long after the start', async () => {
    await remove('orders.DLT');
    const outage = testBus.broker.faults.unplug({ clientId: 'bus' });
    const application = await testBus.startOrders([Orders], { provisioning: 'verify' });
    await testBus.runtime.advance(10 * MINUTE);
    const told = () => warningsWith("dead-letter topic 'orders.DLT'");
    expect(told()).toEqual([]);
    outage.lift();
    await testBus.runtime.advance(2 * MINUTE);
    expect(told()[0]).toContain("of binding 'orders' does not exist");
    await testBus.topic('orders.DLT');
    await testBus.runtime.advance(10_000);
    expect(infosWith("dead-letter topic 'orders.DLT' of binding 'orders' exists")).toHaveLength(1);
    expect(healthOf(application)).toBe('UP ');
  });

  it.each([
    ['orders.DLT', 'dead-letter'],
    ['orders.retry-1', 'retry'],
  ])('is logged within two seconds if a record needs %s', async (topic, kind) => {
    const application = await testBus.startOrders([Orders], {
      retry: { tier0: { maxAttempts: 1 } },
    });
    await remove(topic);
    handle = (_, context) => {
      if (kind === 'dead-letter') return (context as EventContext).deadLetter();
      throw new Error('no');
    };
    await testBus.write('orders', '1');
    await testBus.runtime.advance(2_000);
    expect(linesWith(testBus.log.errors, `could not be written to topic '${topic}'`)).toHaveLength(
      1,
    );
    expect(healthOf(application)).toMatch(`topic '${topic}' cannot be written to`);
    await testBus.runtime.advance(5 * MINUTE);
    const { length } = linesWith(testBus.log.errors, `could not be written to topic '${topic}'`);
    expect(length).toBeGreaterThan(3);
    expect(length).toBeLessThanOrEqual(6);
    await testBus.topic(topic);
    await testBus.runtime.advance(MINUTE);
    expect(infosWith(`Topic '${topic}' of binding 'orders' can be written to again`)).toHaveLength(
      1,
    );
    expect(healthOf(application)).toBe('UP ');
  });

  it('is logged once a minute if it is the main topic, until it exists', async () => {
    await remove('orders');
    const application = await testBus.startOrders([Orders]);
    await testBus.runtime.advance(1_000);
    const told = () => warningsWith("Topic 'orders' of binding 'orders' does not exist");
    expect(told()).toEqual([expect.stringContaining("set provisioning: 'create'")]);
    expect(healthOf(application)).toMatch(/^DOWN .*topic orders does not exist/);
    await testBus.runtime.advance(5 * MINUTE);
    expect(told()).toHaveLength(6);
    await testBus.topic('orders');
    await testBus.runtime.advance(MINUTE);
    expect(infosWith('eventbus-orders consumes again')).toHaveLength(1);
    expect(healthOf(application)).toBe('UP ');
  });

  it('is not logged any more after its binding was stopped', async () => {
    await remove('orders.DLT');
    const application = await testBus.startOrders([Orders], { provisioning: 'verify' });
    await testBus.done(application.get(LifecycleManager).stop('orders'));
    const told = () => warningsWith("dead-letter topic 'orders.DLT'");
    expect(told()).toHaveLength(1);
    await testBus.runtime.advance(5 * MINUTE);
    expect(told()).toHaveLength(1);
    expect(healthOf(application)).not.toContain('orders.DLT');
    await testBus.done(application.get(LifecycleManager).start('orders'));
    await testBus.runtime.advance(500);
    expect(told()).toHaveLength(2);
  });

  it('is not logged while it is being created', async () => {
    await remove('orders', 'orders.DLT', 'orders.retry-1', 'orders.retry-2', 'orders.retry-3');
    const application = await testBus.startOrders([Orders], { provisioning: 'create' });
    await testBus.runtime.advance(MINUTE);
    expect(warningsWith('does not exist')).toEqual([]);
    expect(infosWith('consumes again')).toEqual([]);
    expect(healthOf(application)).toBe('UP ');
  });
});

describe('An unreachable broker', () => {
  it('is logged once a minute per container, until it is reachable', async () => {
    const application = await testBus.startOrders([Orders], { concurrency: 3 });
    const outage = testBus.broker.faults.unplug({ clientId: 'bus' });
    await testBus.runtime.advance(MINUTE);
    const told = () => warningsWith("Binding 'orders' does not consume topic 'orders'");
    const { length } = told();
    expect(length).toBeGreaterThan(0);
    expect(told()[0]).toContain('check the brokers, the network and the credentials');
    expect(healthOf(application)).toMatch(/^DOWN /);
    await testBus.runtime.advance(5 * MINUTE);
    expect(told()).toHaveLength(length + 5);
    outage.lift();
    await testBus.runtime.advance(2 * MINUTE);
    expect(infosWith('eventbus-orders consumes again')).toHaveLength(1);
    expect(healthOf(application)).toBe('UP ');
  });

  it('is not logged any more for a retry topic that is missing when the broker is reachable again', async () => {
    const outage = testBus.broker.faults.unplug({ clientId: 'bus' });
    await testBus.done(testBus.outside.admin().deleteTopics(['orders.retry-1']));
    await testBus.startOrders([Orders]);
    await testBus.runtime.advance(2 * MINUTE);
    const told = () => warningsWith("does not consume topic 'orders.retry-1'");
    expect(told().length).toBeGreaterThan(0);
    outage.lift();
    await testBus.runtime.advance(2 * MINUTE);
    const { length } = told();
    await testBus.runtime.advance(5 * MINUTE);
    expect(told()).toHaveLength(length);
    expect(infosWith("the brokers again, but topic 'orders.retry-1' does not exist")).toHaveLength(
      1,
    );
  });

  it('is not logged any more after the application was closed', async () => {
    const application = await testBus.startOrders([Orders]);
    testBus.broker.faults.unplug({ clientId: 'bus' });
    await testBus.runtime.advance(MINUTE);
    await testBus.done(application.close());
    const { length } = testBus.log.warnings;
    await testBus.runtime.advance(5 * MINUTE);
    expect(testBus.log.warnings).toHaveLength(length);
    expect(infosWith('consumes again')).toEqual([]);
  });
});

import { EXCEPTION_CLASSIFIER } from '../../src/discovery/decorators/tokens.js';
import { errorOf, type TestBus } from '../support/test-bus.spec-support.js';
import { createTestBus, Orders } from '../support/idle-orders.spec-support.js';

let testBus: TestBus;

beforeEach(async () => {
  testBus = await createTestBus();
});

afterEach(() => testBus.end());

describe('A strategy that needs a schedule', () => {
  it('is named in a warning at start if there is none', async () => {
    await testBus.startOrders([Orders], { dlt: { strategy: 'SCHEDULED_REPLAY' } });
    expect(testBus.log.warnings.join()).toContain(
      "Import EventBusScheduleModule from '@nest-event-bus/core/schedule'",
    );
  });
});

describe('Options that another option makes ineffective', () => {
  it('are named in a warning at start', async () => {
    await testBus.startOrders([Orders], { topics: { partitions: 3 } });
    expect(testBus.log.warnings).toContain(
      "bindings.orders.topics.partitions (the options) has no effect: provisioning is not 'create': no topic is created.",
    );
  });

  it('stop the start if they can only be a mistake', async () => {
    const start = testBus.startOrders([Orders], { strictExhaustion: 'PAUSE_PARTITION' });
    expect(String(await errorOf(start))).toContain(
      'bindings.orders.strictExhaustion: has no effect',
    );
  });
});

it('A complete configuration causes no warning', async () => {
  for (const topic of ['orders.retry-1', 'orders.retry-2', 'orders.retry-3', 'orders.DLT'])
    await testBus.topic(topic);
  const classifier = { provide: EXCEPTION_CLASSIFIER, useValue: { classify: () => undefined } };
  await testBus.startOrders([Orders, classifier]);
  expect(testBus.log.warnings).toEqual([]);
});

describe('An application without a SIGTERM listener', () => {
  const sigtermWarnings = (): readonly string[] =>
    testBus.log.warnings.filter((text) => text.startsWith('SIGTERM has no listener'));
  const withListeners = (count: number): void => {
    jest.spyOn(process, 'listenerCount').mockReturnValue(count);
  };

  afterEach(() => jest.restoreAllMocks());

  it('logs a warning a second after the start, when main.ts has had time to call enableShutdownHooks()', async () => {
    withListeners(0);
    await testBus.startOrders([Orders]);
    expect(sigtermWarnings()).toEqual([]);
    await testBus.runtime.advance(1_000);
    expect(sigtermWarnings()).toEqual([expect.stringContaining('Call app.enableShutdownHooks().')]);
  });

  it('logs no warning if the listener is added within a second after the start', async () => {
    withListeners(0);
    await testBus.startOrders([Orders]);
    withListeners(1);
    await testBus.runtime.advance(5_000);
    expect(sigtermWarnings()).toEqual([]);
  });

  it('logs no warning if the application closes within a second after the start', async () => {
    withListeners(0);
    const application = await testBus.startOrders([Orders]);
    const closing = application.close();
    await testBus.runtime.advance(5_000);
    await closing;
    expect(sigtermWarnings()).toEqual([]);
  });

  it('logs no warning if the shutdown hooks are enabled', async () => {
    const application = await testBus.startOrders([Orders]);
    application.enableShutdownHooks(['SIGTERM']);
    await testBus.runtime.advance(5_000);
    expect(sigtermWarnings()).toEqual([]);
  });
});

import fc from 'fast-check';
import { EventBusException } from '../../src/errors/event-bus-exception.js';
import type { DltReplayService } from '../../src/redrive/dlt-replay-service.js';
import { errorOf } from '../support/test-bus.spec-support.js';
import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

/** Of each kind; 1,000 together. */
const REQUESTS = 500;
const NOTE = { by: 'mallory', reason: 'hostile' };
const FIELDS = ['exceptionClass', 'group', 'key', 'originalOffset', 'tier', 'binding'];

/** Values that no condition may have. */
const hostileValue = fc.oneof(
  fc.constantFrom(null, true, NaN, Infinity, -0.5, [], {}, /a+/, () => true, Symbol('s')),
  fc.constantFrom({ regex: '(a+)+$' }, { in: [] }, { in: [{}] }, { prefix: '' }, { prefix: 1 }),
  fc.constantFrom({ from: 5, to: 5 }, { from: '1e9' }, { $gt: 0 }, { in: ['a'], prefix: 'a' }),
  fc.constant({ in: Array.from({ length: 1_001 }, String) }),
  fc.constant('x'.repeat(1_001)),
  fc.constant(new Date(0)),
);

/** Any name is the name of a header, so only the value of a header can be refused. */
const hostileHeaders = fc.oneof(
  fc.dictionary(fc.string({ minLength: 1 }), hostileValue, { minKeys: 1 }),
  fc.constantFrom<unknown>(null, true, 7, 'name', {}, [], /a+/, { regex: { regex: 'a' } }),
);

const hostileFilter = fc.oneof(
  fc.dictionary(fc.constantFrom(...FIELDS), hostileValue, { minKeys: 1 }),
  fc.record({ headers: hostileHeaders }),
  fc.dictionary(fc.constantFrom('__proto__x', 'constructor', 'where', '$where'), fc.anything(), {
    minKeys: 1,
  }),
  fc.constantFrom<unknown>({}, [], 'all', 7, { olderThan: 'soon' }, { youngerThan: -1 }),
);

const hostileEdit = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, {}, [], 'value', { valu: '1' }, { partition: 3 }),
  fc.record({ value: fc.constantFrom<unknown>(7, {}, [], true, 'x'.repeat(1_048_577)) }),
  fc.record({ key: fc.constantFrom<unknown>(7, {}, 'k'.repeat(16_385), new Uint8Array(3)) }),
  fc.record({
    headers: fc.constantFrom<unknown>(
      null,
      {},
      [],
      { '': 'a' },
      { 'x-eventbus-replay-count': '0' },
      { 'X-EventBus-Group-Id': 'billing' },
      { a: 1 },
      { a: Buffer.from('a') },
      { a: 'x'.repeat(8_193) },
      { ['n'.repeat(201)]: 'a' },
      Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`h${index}`, 'a'])),
    ),
  }),
);

const hostilePosition = fc.constantFrom<unknown>(
  null,
  undefined,
  {},
  { partition: -1, offset: 0 },
  { partition: 0, offset: 1.5 },
  { partition: '0', offset: '0' },
  { partition: 0, offset: Number.MAX_VALUE },
);

/** Every call must reject with a typed error of the bus. */
async function expectTyped(call: (replay: DltReplayService) => Promise<unknown>): Promise<void> {
  const { replay } = testBus;
  const attempt = (async () => call(replay))();
  const error = await errorOf(testBus.done(attempt));
  expect(error).toBeInstanceOf(EventBusException);
  expect((error as EventBusException).code).toMatch(
    /^(INVALID_DEAD_LETTER_FILTER|INVALID_DEAD_LETTER_EDIT|REDRIVE_REFUSED)$/,
  );
  expect((error as EventBusException).message.length).toBeLessThan(2_000);
}

const everything = async () => ({
  orders: await testBus.values('orders'),
  deadLetters: await testBus.deadLetters(),
  replayed: (await testBus.done(testBus.replay.list('orders', { status: 'replayed' }))).letters,
});

describe('A hostile request', () => {
  it(`gets a typed error and moves nothing, as ${REQUESTS} filters show`, async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const before = await everything();
    await fc.assert(
      fc.asyncProperty(hostileFilter, fc.nat(3), async (filter, which) => {
        const where = filter as { readonly key: string };
        const calls = [
          (replay: DltReplayService) => replay.plan('orders', { where }),
          (replay: DltReplayService) => replay.replay('orders', { where }),
          (replay: DltReplayService) => replay.list('orders', { where }),
          (replay: DltReplayService) => replay.markPermanentlyFailed('orders', { where }, NOTE),
        ];
        await expectTyped(async (replay) => calls[which]!(replay));
      }),
      { numRuns: REQUESTS },
    );
    expect(await everything()).toEqual(before);
  }, 240_000);

  it(`gets a typed error and moves nothing, as ${REQUESTS} edits show`, async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const before = await everything();
    const position = { partition: 0, offset: 0 };
    const edited = hostileEdit.map((edit): readonly [unknown, unknown] => [position, edit]);
    const misplaced = hostilePosition.map((at): readonly [unknown, unknown] => [
      at,
      { value: '1' },
    ]);
    await fc.assert(
      fc.asyncProperty(fc.oneof(edited, misplaced), async ([at, edit]) => {
        await expectTyped((replay) =>
          replay.editAndReplay('orders', at as typeof position, edit as { value: string }, NOTE),
        );
      }),
      { numRuns: REQUESTS },
    );
    expect(await everything()).toEqual(before);
  }, 240_000);
});

import type { EventRecord } from '../../model/records/event-record.js';
import {
  bindingOf,
  deliveryOf,
  errorOf,
  handler,
  now,
  processorOf,
  recordingLogger,
} from '../pipeline.spec-support.js';

const succeeded = { kind: 'succeeded' };

let handled: unknown[];

beforeEach(() => {
  handled = [];
});

describe('selectHandler', () => {
  const named = (name: string, type?: string) => handler(() => void handled.push(name), { type });
  const table = [named('placed', 'OrderPlaced'), named('paid', 'OrderPaidEvent'), named('rest')];

  it.each([
    ['OrderPlaced', 'placed'],
    ['OrderPlacedEvent', 'placed'],
    ['OrderPaid', 'paid'],
    ['OrderPaidEvent', 'paid'],
    ['orderplaced', 'rest'],
    ['OrderPlacedEventEvent', 'rest'],
    [undefined, 'rest'],
  ])("passes type %s to the handler '%s'", (type, name) => {
    now(processorOf(table).process(deliveryOf({ type })));
    expect(handled).toEqual([name]);
  });

  it('reads the type from another header, or from a field of the value', () => {
    const [placed] = table;
    const reading = (typeFrom: string) =>
      processorOf([placed!], { binding: bindingOf({ typeFrom }) });
    now(reading('ce_type').process(deliveryOf({ headers: { ce_type: 'OrderPlaced' } })));
    now(reading('$.meta.type').process(deliveryOf({ value: { meta: { type: 'OrderPlaced' } } })));
    expect(handled).toEqual(['placed', 'placed']);
  });

  it.each<[unknown]>([[null], ['text'], [7], [{ meta: null }], [{ meta: { type: 7 } }]])(
    'finds no type in a value without the field: %j',
    (value) => {
      const binding = bindingOf({ typeFrom: '$.meta.type', unknownType: 'fail' });
      const outcome = processorOf([table[0]!], { binding }).process(deliveryOf({ value }));
      expect(errorOf(now(outcome)).message).toContain('no handler for records without a type');
    },
  );

  it('discards a record of an unknown type, with one warning per type', () => {
    const logger = recordingLogger();
    const processor = processorOf([table[0]!], { logger });
    const outcomes = ['Other', 'Other', undefined, 'Third'].map((type) =>
      processor.process(deliveryOf({ type })),
    );
    expect(outcomes).toEqual(outcomes.map(() => ({ kind: 'discarded', reason: 'unknown-type' })));
    expect(logger.lines.map(({ level }) => level)).toEqual(['warn', 'warn', 'warn']);
    expect(logger.lines[0]!.message).toContain("Binding 'orders' has no handler for type 'Other'");
  });

  it('limits the number of types that it warns of', () => {
    const logger = recordingLogger();
    const processor = processorOf([table[0]!], { logger });
    for (let index = 0; index < 1_500; index += 1) {
      now(processor.process(deliveryOf({ type: `T${index}` })));
    }
    expect(logger.lines).toHaveLength(1_000);
  });

  it("fails the record with unknownType: 'fail'", () => {
    const binding = bindingOf({ unknownType: 'fail' });
    const outcome = processorOf([table[0]!], { binding }).process(deliveryOf({ type: 'Other' }));
    expect(errorOf(now(outcome))).toMatchObject({ code: 'UNKNOWN_EVENT_TYPE' });
  });

  it('refuses two handlers of one type', () => {
    expect(() => processorOf([named('a', 'X'), named('b', 'XEvent')])).toThrow(
      "2 handlers for type 'X'",
    );
  });
});

describe('A filter', () => {
  const filteredBy = (filter: (record: EventRecord) => boolean) =>
    processorOf([handler(() => void handled.push(1), { filter })]).process(
      deliveryOf({ value: { id: 7 }, headers: { region: 'eu' } }),
    );

  it('passes a record or discards it', () => {
    expect(filteredBy(({ headers }) => headers.get('region') === 'eu')).toEqual(succeeded);
    expect(filteredBy(({ value }) => (value as { id: number }).id === 8)).toEqual({
      kind: 'discarded',
      reason: 'filtered',
    });
    expect(handled).toEqual([1]);
  });

  it('fails the record if it throws', async () => {
    const outcome = await filteredBy(() => {
      throw new Error('filter');
    });
    expect(errorOf(outcome).message).toBe('filter');
  });

  it('fails the record if it returns a promise, which would pass every record', async () => {
    const outcome = await filteredBy((() => Promise.reject(new Error('x'))) as never);
    expect(errorOf(outcome).message).toContain('returned a promise');
  });
});

import { inspect } from 'node:util';
import type { EventRecord } from '../../model/records/event-record.js';
import {
  bindingOf,
  deliveryOf,
  errorOf,
  handler,
  now,
  processorOf,
} from '../pipeline.spec-support.js';

const read = (
  from: string,
  supported: readonly string[],
  given: Parameters<typeof deliveryOf>[0],
) => {
  const handled: unknown[] = [];
  const keep = handler(({ value }: EventRecord) => void handled.push(value));
  const binding = bindingOf({ schemaVersion: { from, supported } });
  const outcome = now(processorOf([keep], { binding }).process(deliveryOf(given)));
  return { outcome, handled };
};

describe('checkSchemaVersion', () => {
  it.each([
    ['without supported versions in the options', 'schema-version', [], { value: {} }],
    ['a header', 'schema-version', ['1', '2'], { headers: { 'schema-version': '2' } }],
    ['a text in the value', '$.meta.version', ['2'], { value: { meta: { version: '2' } } }],
    ['a number in the value', '$.version', ['2'], { value: { version: 2 } }],
    ['of a tombstone, which has none', 'schema-version', ['2'], { value: null }],
  ])('accepts a version: %s', (_, from, supported, given) => {
    const { outcome, handled } = read(from, supported, given);
    expect(outcome).toEqual({ kind: 'succeeded' });
    expect(handled).toHaveLength(1);
  });

  it.each([
    ['another header', 'schema-version', { headers: { 'schema-version': '3' } }, "version '3'"],
    ['no header', 'schema-version', {}, 'no version'],
    ['another number', '$.version', { value: { version: 20 } }, 'another version'],
    [
      'a free text',
      'schema-version',
      { headers: { 'schema-version': 'a secret' } },
      'another version',
    ],
    ['something else', '$.version', { value: { version: { secret: 2 } } }, 'no version'],
    ['what objects inherit', '$.constructor.length', { value: {} }, 'no version'],
  ])('refuses a version permanently: %s', (_, from, given, message) => {
    const { outcome, handled } = read(from, ['1', '2'], given);
    const error = errorOf(outcome);
    expect(error).toMatchObject({ code: 'PAYLOAD_VALIDATION', retriable: false });
    expect(error.message).toContain(`${from}: ${message} instead of 1 or 2`);
    expect(inspect(error)).not.toContain('secret');
    expect(handled).toEqual([]);
  });

  it('does not check a record without a handler', () => {
    const binding = bindingOf({ schemaVersion: { from: 'v', supported: ['1'] } });
    const other = handler(() => undefined, { type: 'Other' });
    expect(now(processorOf([other], { binding }).process(deliveryOf({ type: 'Mine' })))).toEqual({
      kind: 'discarded',
      reason: 'unknown-type',
    });
    const filtering = handler(() => undefined, { filter: () => false });
    expect(now(processorOf([filtering], { binding }).process(deliveryOf()))).toEqual({
      kind: 'discarded',
      reason: 'filtered',
    });
  });
});

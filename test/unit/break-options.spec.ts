import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEY_REGISTER } from '../../libs/core/src/config/validation/key-register';
import { without } from '../../tools/break-options/break-option.mjs';
import { readRegisteredKeys } from '../../tools/break-options/registered-keys.mjs';
import { SOURCE_CHANGES } from '../../tools/break-options/source-changes.mjs';

const root = join(__dirname, '../..');

describe('The tool break-options', () => {
  it('reads every option of the register', () => {
    const registered = KEY_REGISTER.map(({ key, effect }) => ({ key, effect }));
    const read = readRegisteredKeys(root).map(({ key, effect }) => ({ key, effect }));
    expect(read).toEqual(registered);
  });

  it.each(SOURCE_CHANGES)('finds the text that it replaces in $file: $text', ({ file, text }) => {
    const source = readFileSync(join(root, 'libs/core/src', file), 'utf8');
    expect(source.split(text)).toHaveLength(2);
  });

  it.each([
    ['groupId', { groupId: 'a', topic: 't' }, { topic: 't' }],
    ['dlt.topic', { dlt: { topic: 'a', strategy: 'CUSTOM' } }, { dlt: { strategy: 'CUSTOM' } }],
    [
      'retry.tiers[].delayMs',
      { retry: { tiers: [{ delayMs: 1, n: 2 }] } },
      { retry: { tiers: [{ n: 2 }] } },
    ],
    ['clusters.*.ssl', { clusters: { eu: { ssl: true, n: 1 } } }, { clusters: { eu: { n: 1 } } }],
    ['dlt.topic', { retry: {} }, { retry: {} }],
  ])('removes %s from %j', (key, values, expected) => {
    expect(without(values, key)).toEqual(expected);
  });

  it('sets another value only if there is one', () => {
    expect(without({ topic: 'a' }, 'topic', 'b')).toEqual({ topic: 'b' });
    expect(without({}, 'topic', 'b')).toEqual({});
  });
});

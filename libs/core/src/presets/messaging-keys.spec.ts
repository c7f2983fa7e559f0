import { EventBusProperties } from '../config/properties/event-bus-properties.js';
import { keyPaths } from '../config/properties/property-tree.js';
import { PRESETS } from '../config/reading/presets.js';
import { fromProperties } from './from-properties.js';
import { MESSAGING_FIELDS, namesOf } from './messaging-keys.js';
import { MESSAGING_DEFAULTS, MessagingProperties } from './messaging-properties.js';
import { FIELD_CASES, valueAt } from './messaging-properties.spec-support.js';
import { optionShape } from './text-value.js';

const OPTIONS = MESSAGING_FIELDS.flatMap(({ path, use }) =>
  use.kind === 'option' ? [{ path, ...use, option: use.to.join('.') }] : [],
);

describe('MESSAGING_FIELDS', () => {
  it('has exactly the fields of the class', () => {
    expect(MESSAGING_FIELDS.map(({ path }) => path)).toEqual(keyPaths(MessagingProperties));
  });

  it.each(FIELD_CASES.filter(({ option }) => option))(
    '$id: $key is an option of the event bus',
    ({ path, other, option }) => {
      const names = namesOf(MESSAGING_FIELDS.find((field) => field.path === path) ?? never());
      for (const name of names) {
        const { options, unused } = fromProperties({ [name]: other });
        expect(valueAt(options, option?.path ?? '')).toEqual(option?.value);
        expect(unused).toEqual([]);
      }
    },
  );

  it.each(FIELD_CASES.filter(({ option }) => !option))(
    '$id: $key is reported as left to the messaging package',
    ({ key, other }) => {
      const { options, unused } = fromProperties({ [key]: other });
      expect(options).toEqual(fromProperties({}).options);
      expect(unused).toEqual([
        {
          source: 'properties',
          key,
          reason: expect.stringContaining('only the messaging package reads it'),
        },
      ]);
    },
  );

  it.each(OPTIONS)(
    '$path has the default that preset brokers has in $option',
    ({ path, to, convert }) => {
      const byDefault = valueAt(MESSAGING_DEFAULTS, path);
      const [, ...key] = to;
      expect(valueAt(PRESETS.brokers.binding, key.join('.'))).toBe(
        convert ? convert(byDefault) : byDefault,
      );
    },
  );

  it('compares all eight numbers of the preset', () => {
    expect(OPTIONS).toHaveLength(8);
  });

  it.each(OPTIONS)('$path is validated by the rule of $option', ({ path, to }) => {
    const here = optionShape(MessagingProperties, path.split('.'));
    const there = optionShape(EventBusProperties, to);
    expect([here.kind, here.rule]).toEqual([there.kind, there.rule]);
  });

  it('preset brokers has no retry topics, because they must be enabled explicitly', () => {
    expect(MESSAGING_DEFAULTS.retry.retryTopicsEnabled).toBe(true);
    expect(PRESETS.brokers.binding.retry?.tiers).toEqual([]);
  });
});

function never(): never {
  throw new Error('there is no such field');
}

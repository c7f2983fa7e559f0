import {
  anyOf,
  choice,
  constant,
  explained,
  flag,
  list,
  named,
  nothing,
  number,
  object,
  record,
  text,
  type ValueOf,
} from '../schema.js';
import { lastCommand, snapshotFields } from './binding-schemas.js';
import { reasonText } from './common-schemas.js';

const value = anyOf(text({ maxLength: 1_000 }), number(), flag());

const option = named(
  'Option',
  object({
    key: text(),
    value,
    origin: choice('default', 'preset', 'code', 'environment', 'runtime'),
    source: text(),
    isChangeable: flag('False if a new value needs a restart of the application.'),
  }),
);

export const configuration = named(
  'Configuration',
  object(
    {
      ...snapshotFields,
      scope: explained('Other processes have options of their own.', constant('process')),
      options: list(option),
    },
    { lastCommand },
  ),
);

export type AdminConfiguration = ValueOf<typeof configuration>;

export const configurationChange = named(
  'ConfigurationChange',
  object(
    {
      changes: explained(
        'Values by the paths of their options: `retry.tier0.maxAttempts`. Null ends an earlier change.',
        record(anyOf(text({ maxLength: 1_000 }), number(), flag(), nothing), { minProperties: 1 }),
      ),
    },
    { reason: reasonText },
  ),
);

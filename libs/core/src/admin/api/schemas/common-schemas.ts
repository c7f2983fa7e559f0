import { integer, named, object, text, list, anyOf, type ValueOf } from '../schema.js';

export const bindingName = text({
  minLength: 1,
  maxLength: 200,
  description: 'The name of a binding.',
});

/** Parameters of the query that every route of a binding takes. */
export const clusterQuery = {
  cluster: text({
    minLength: 1,
    maxLength: 200,
    description: 'The cluster of the binding. Needed if several clusters have the name.',
  }),
};

export const reasonText = text({ maxLength: 1_000, description: 'Why, for the audit.' });

/** The body of a command that needs no more than a reason. */
export const noteBody = named('Note', object({}, { reason: reasonText }));

/** Offsets exceed the exact range of JSON numbers in some parsers, so they are decimal text. */
export const offsetText = text({ pattern: '^\\d{1,16}$', description: 'Decimal text.' });

export const duration = named(
  'Duration',
  anyOf(
    integer({ minimum: 0, maximum: 2 ** 31 - 1, description: 'Milliseconds.' }),
    text({
      pattern: '^\\d{1,15}(\\.\\d{1,9})? ?(ms|s|m|h|d)$',
      description: "Such as '250ms', '10s', '5m', '1h' or '7d'.",
    }),
  ),
);

export const partitionNumber = integer({ minimum: 0, maximum: 2 ** 31 - 1 });

export const count = integer({ minimum: 0 });

/** RFC 9457. `code` is stable, and `detail` says what to do. */
export const problem = named(
  'Problem',
  object(
    { type: text(), title: text(), status: integer(), code: text(), detail: text() },
    { errors: list(object({ path: text(), message: text() })) },
  ),
);

export type AdminProblem = ValueOf<typeof problem>;

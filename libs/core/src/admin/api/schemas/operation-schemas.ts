import {
  anyOf,
  anything,
  choice,
  constant,
  explained,
  flag,
  integer,
  list,
  named,
  object,
  record,
  text,
  time,
  type ValueOf,
} from '../schema.js';
import { count, duration, offsetText, partitionNumber, reasonText } from './common-schemas.js';
import { causeGroup, letterFilter, rate, target } from './letter-schemas.js';

/** The oldest letters, at most. */
export const limit = integer({ minimum: 1, maximum: 1_000_000_000 });

export const operationId = text({ pattern: '^[\\w.-]{1,64}$', description: 'The id of a plan.' });

const letters = integer({ minimum: 1, maximum: 1_000_000_000 });

const canary = named(
  'Canary',
  anyOf(
    letters,
    object(
      { letters },
      {
        continue: explained(
          'When the rest follows a good canary. Default `automatically`.',
          choice('automatically', 'on-approval'),
        ),
        undecidedFor: explained(
          'The canary is bad if a letter is undecided after this time. Default: no limit.',
          duration,
        ),
      },
    ),
  ),
);

const ramp = named('Ramp', object({ from: rate, to: rate, every: duration }));

/** How an operation is run. */
const pace = {
  rate,
  ramp: explained('A rate that doubles after each time without a returned letter.', ramp),
  canary: explained(
    'Letters that are replayed first. The rest follows if all are handled.',
    canary,
  ),
};

export const newOperation = named(
  'NewOperation',
  object(
    {},
    {
      id: text({
        pattern: '^[\\w.-]{1,64}$',
        description: 'Makes the request repeatable: the same id never starts a second operation.',
      }),
      where: letterFilter,
      all: explained('Selects every open letter.', constant(true)),
      limit: explained('The oldest letters, at most.', limit),
      to: target,
      ...pace,
      reason: reasonText,
      dryRun: flag('Makes the plan, and runs nothing.'),
    },
  ),
);

export type AdminNewOperation = ValueOf<typeof newOperation>;

export const runBody = named('RunOperation', object({}, { ...pace, reason: reasonText }));

export type AdminRunOperation = ValueOf<typeof runBody>;

export const operation = named(
  'Operation',
  object(
    {
      id: text(),
      binding: text(),
      cluster: text(),
      state: text({
        description:
          'planned, running, braked, awaiting-outcomes, awaiting-approval, rejected, stopped, cancelled or completed.',
      }),
      createdAt: time(),
      createdBy: text(),
      target,
      targetTopic: text(),
      delivery: explained(
        'At least once without transactions: a failure may repeat a batch, with the same replay ids.',
        choice('exactly-once', 'at-least-once'),
      ),
      deadLetterTopic: text(),
      selected: count,
      replayed: count,
      failed: explained('Letters that the target topic refuses. They stay open.', count),
      skipped: explained('Letters that were no longer open at their turn.', record(count)),
      remaining: count,
      partitions: list(
        object({
          partition: partitionNumber,
          from: offsetText,
          to: offsetText,
          selected: count,
        }),
      ),
      notSelected: explained(
        'Letters that match the filter and are left where they are.',
        record(count),
      ),
      groups: list(causeGroup),
      groupCount: count,
    },
    {
      reason: text(),
      filter: letterFilter,
      outcomes: explained(
        'How the replayed records ended, as far as that is known.',
        record(count),
      ),
      canary: object(
        {
          letters: count,
          continue: text(),
          verdict: text({ description: 'undecided, good or bad.' }),
          good: count,
          bad: count,
          undecided: count,
        },
        { reason: text(), approvedBy: text() },
      ),
      brakes: explained(
        'Why the operation has paused itself, by node.',
        list(object({ node: text(), reason: text(), at: time() }, { figure: count, limit: count })),
      ),
      failure: explained(
        'Why the run of this process has failed.',
        object({ code: text(), detail: text() }),
      ),
    },
  ),
);

export type AdminOperation = ValueOf<typeof operation>;

export const operations = named('Operations', object({ operations: list(operation) }));

export const replayed = named('Replayed', object({ replayed: count, operation }));

export const purged = named(
  'Purged',
  object({
    deleted: count,
    partitions: list(
      object(
        { partition: partitionNumber, low: offsetText, deleted: count },
        { stoppedBy: text() },
      ),
    ),
  }),
);

export const actions = named(
  'Actions',
  object({
    actions: list(
      object(
        { id: text(), action: text(), by: text(), at: time(), request: record(anything) },
        { reason: text(), result: record(anything) },
      ),
    ),
  }),
);

import {
  anyOf,
  choice,
  explained,
  flag,
  integer,
  list,
  named,
  nothing,
  object,
  text,
  time,
  type ValueOf,
} from '../schema.js';
import { bindingState } from './binding-state.js';
import { reach } from './fleet-schemas.js';
import { bindingName, count, offsetText, partitionNumber, reasonText } from './common-schemas.js';

export const lastCommand = object(
  { operation: text(), at: time() },
  { by: text(), reason: text() },
);

export const snapshotFields = {
  name: text(),
  cluster: text(),
  state: bindingState,
  since: time('Start of this state.'),
  pauses: explained('Reasons for which the binding is paused.', list(text())),
};

export const binding = named('Binding', object(snapshotFields, { lastCommand }));

export type AdminBinding = ValueOf<typeof binding>;

export const commandResult = named(
  'CommandResult',
  object({ ...snapshotFields, reach }, { lastCommand }),
);

export type AdminCommandResult = ValueOf<typeof commandResult>;

export const bindings = named(
  'Bindings',
  object({
    bindings: list(binding),
    published: explained(
      'Bindings to which the application only publishes. They take no commands.',
      list(object({ name: text(), cluster: text(), topic: text() })),
    ),
  }),
);

const partition = object({ topic: text(), partition: partitionNumber });

const partitionPause = object(
  { topic: text(), partition: partitionNumber, reasons: list(text()) },
  { undecidedOffset: explained('The offset of the record that waits for a decision.', offsetText) },
);

const container = named(
  'Container',
  object({
    id: text(),
    topic: text(),
    groupId: text(),
    tier: explained('0 is the main topic.', count),
    state: text(),
    since: time(),
    pauses: list(text()),
    partitionPauses: list(partitionPause),
    assignment: list(partition),
    runningHandlers: count,
    stuckHandlers: count,
  }),
);

const circuit = object({
  state: choice('CLOSED', 'OPEN', 'HALF_OPEN'),
  since: time(),
  calls: count,
  failures: count,
  slow: count,
});

const counts = explained(
  'Records of this process since the binding was registered.',
  object({
    received: count,
    processed: count,
    discarded: count,
    retried: count,
    deadLettered: count,
    failed: count,
    handedBack: count,
    inFlight: count,
  }),
);

export const bindingDetails = named(
  'BindingDetails',
  object(
    {
      ...snapshotFields,
      topic: text(),
      groupId: text(),
      deadLetterTopic: text(),
      health: object({ status: choice('UP', 'DEGRADED', 'DOWN'), reasons: list(text()) }),
      counts,
      lag: explained(
        'Records of the main topic that the group has not committed. Null if the brokers did not answer in time.',
        anyOf(count, nothing),
      ),
      circuit: anyOf(circuit, nothing),
      containers: explained('The main topic and the retry tiers.', list(container)),
    },
    { lastCommand },
  ),
);

export type AdminBindingDetails = ValueOf<typeof bindingDetails>;

export const registration = named(
  'Registration',
  object(
    { name: bindingName, topic: text({ minLength: 1, maxLength: 249 }) },
    {
      handler: text({
        minLength: 1,
        maxLength: 200,
        description:
          'The binding whose `@EventHandler` methods handle the records. Default: the name of the new binding.',
      }),
      reason: reasonText,
    },
    { additionalProperties: true },
  ),
);

export const decision = named(
  'Decision',
  object(
    {
      topic: text({ minLength: 1, maxLength: 249 }),
      partition: partitionNumber,
      decision: choice('retry', 'dead-letter', 'skip'),
    },
    { offset: offsetText, reason: reasonText },
  ),
);

export const tierNumber = integer({ minimum: 1, maximum: 1_000 });

export const health = named(
  'Health',
  object({
    status: choice('UP', 'DEGRADED', 'DOWN', 'DISABLED'),
    isShuttingDown: flag(),
    bindings: list(
      object({
        name: text(),
        cluster: text(),
        state: bindingState,
        status: choice('UP', 'DEGRADED', 'DOWN'),
        reasons: list(text()),
      }),
    ),
  }),
);

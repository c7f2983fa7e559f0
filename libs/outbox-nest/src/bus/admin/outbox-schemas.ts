import { adminSchema } from '@nest-event-bus/core';

const { anyOf, choice, flag, integer, list, named, nothing, number, object, text, time } =
  adminSchema;

const name = text({ minLength: 1, maxLength: 128 });
const optionalText = anyOf(text(), nothing);
const count = integer({ minimum: 0 });
const reason = text({ maxLength: 1_000, description: 'Why, for the audit.' });

export const filter = {
  eventType: name,
  aggregateType: name,
  aggregateId: name,
  createdBefore: time('Events that were created before.'),
};

/** What routes that select DEAD events take. */
export const selectionQuery = {
  ...filter,
  group: text({ pattern: '^[0-9a-f]{16}$', description: 'A group of cause of DEAD events.' }),
};

const selection = named('OutboxSelection', object({}, selectionQuery));

const planRef = {
  plan: text({ pattern: '^\\d{1,16}-[0-9a-f]{24}$', description: 'The id of the plan.' }),
};
const planParts = { where: selection, reason };

export const planBody = named('OutboxPlanRequest', object({}, planParts));
export const redriveBody = named(
  'OutboxRedriveRequest',
  object(planRef, {
    ...planParts,
    rate: number({
      exclusiveMinimum: 0,
      maximum: 10_000,
      description: 'Events per second. Default 100.',
    }),
  }),
);
export const purgeBody = named('OutboxPurgeRequest', object(planRef, planParts));
export const keyBody = named(
  'OutboxKeyRequest',
  object({ key: text({ minLength: 1, maxLength: 400 }) }, { reason }),
);

const listedFields = {
  sequence: integer(),
  eventId: text(),
  eventType: text(),
  aggregateType: optionalText,
  aggregateId: optionalText,
  tenantId: optionalText,
  status: choice('NEW', 'DONE', 'RETRY', 'DEAD'),
  attempts: count,
  availableAt: time(),
  createdAt: time(),
};

const listedEvent = named(
  'OutboxEvent',
  object({ ...listedFields, errorClass: optionalText, blocksKey: flag() }),
);

export const eventPage = named(
  'OutboxEventPage',
  object({ events: list(listedEvent), next: anyOf(integer(), nothing) }),
);

const { sequence: _sequence, ...detailFields } = listedFields;

export const eventDetails = named(
  'OutboxEventDetails',
  object({
    ...detailFields,
    lastError: optionalText,
    headers: optionalText,
    payload: text({ description: 'JSON as it is, other bytes in Base64.' }),
    payloadEncoding: choice('text', 'base64'),
  }),
);

const group = named(
  'OutboxCauseGroup',
  object({
    id: text(),
    eventType: text(),
    aggregateType: optionalText,
    errorClass: text(),
    count,
    firstCreatedAt: time(),
    lastCreatedAt: time(),
    eventId: text({ description: 'The first event of the group.' }),
  }),
);

export const groups = named(
  'OutboxCauseGroups',
  object({ groups: list(group), isComplete: flag('False if there are too many events.') }),
);

export const plan = named(
  'OutboxPlan',
  object({
    id: text(),
    count,
    blocking: count,
    groups: list(group),
    isComplete: flag('False if there are more events than one plan holds.'),
  }),
);

export const operation = named(
  'OutboxOperation',
  object({
    id: text(),
    plan: text(),
    state: choice('running', 'completed', 'cancelled', 'failed'),
    total: count,
    replayed: count,
    skipped: count,
    rate: number(),
    startedAt: time(),
    endedAt: anyOf(time(), nothing),
    errorClass: optionalText,
  }),
);

export const operations = named('OutboxOperations', object({ operations: list(operation) }));
export const purged = named('OutboxPurged', object({ purged: count }));
export const released = named('OutboxReleased', object({ events: count }));

export const blockedKeys = named(
  'OutboxBlockedKeys',
  object({
    keys: list(
      named(
        'OutboxBlockedKey',
        object({ key: text(), eventId: text(), errorClass: optionalText, waiting: count }),
      ),
    ),
  }),
);

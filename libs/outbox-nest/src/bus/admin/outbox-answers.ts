import type { ValueOf } from '@nest-event-bus/core';
import {
  type BlockedKey,
  EventStatus,
  type ListedEvent,
  type OutboxEvent,
} from '@nest-event-bus/outbox';
import { errorClassOf, type OutboxCauseGroup } from '../../admin/cause-groups.js';
import type { OutboxOperation } from '../../admin/replay-run.js';
import type { blockedKeys, eventDetails, eventPage, groups, operation } from './outbox-schemas.js';

const STATUS = {
  [EventStatus.NEW]: 'NEW',
  [EventStatus.DONE]: 'DONE',
  [EventStatus.RETRY]: 'RETRY',
  [EventStatus.DEAD]: 'DEAD',
} as const;

const timeOf = (ms: number): string => new Date(ms).toISOString();

/** The message of an error may quote data, so only the right `payload` shows it. */
const classOf = (lastError: string | null): string | null =>
  lastError === null ? null : errorClassOf({ lastError });

type Common = Pick<
  OutboxEvent,
  | 'eventId'
  | 'eventType'
  | 'aggregateType'
  | 'aggregateId'
  | 'tenantId'
  | 'status'
  | 'attempts'
  | 'availableAt'
  | 'createdAt'
>;

const commonAnswer = (event: Common) => ({
  eventId: event.eventId,
  eventType: event.eventType,
  aggregateType: event.aggregateType,
  aggregateId: event.aggregateId,
  tenantId: event.tenantId,
  status: STATUS[event.status],
  attempts: event.attempts,
  availableAt: timeOf(event.availableAt),
  createdAt: timeOf(event.createdAt),
});

export const listedAnswer = (event: ListedEvent): ValueOf<typeof eventPage>['events'][number] => ({
  ...commonAnswer(event),
  sequence: event.sequence,
  errorClass: classOf(event.lastError),
  blocksKey: event.blocksKey,
});

export function detailsAnswer(event: OutboxEvent): ValueOf<typeof eventDetails> {
  const { payload, headersJson, lastError } = event;
  const isText = typeof payload === 'string';
  return {
    ...commonAnswer(event),
    lastError,
    headers: headersJson,
    payload: isText ? payload : Buffer.from(payload).toString('base64'),
    payloadEncoding: isText ? 'text' : 'base64',
  };
}

export const groupAnswer = (group: OutboxCauseGroup): ValueOf<typeof groups>['groups'][number] => ({
  id: group.id,
  eventType: group.eventType,
  aggregateType: group.aggregateType,
  errorClass: group.error,
  count: group.count,
  firstCreatedAt: timeOf(group.firstCreatedAt),
  lastCreatedAt: timeOf(group.lastCreatedAt),
  eventId: group.eventId,
});

export const operationAnswer = (each: OutboxOperation): ValueOf<typeof operation> => ({
  id: each.id,
  plan: each.planId,
  state: each.state,
  total: each.total,
  replayed: each.replayed,
  skipped: each.skipped,
  rate: each.rate,
  startedAt: timeOf(each.startedAt),
  endedAt: each.endedAt === null ? null : timeOf(each.endedAt),
  errorClass: each.error,
});

export const blockedKeyAnswer = ({
  key,
  eventId,
  lastError,
  waiting,
}: BlockedKey): ValueOf<typeof blockedKeys>['keys'][number] => ({
  key,
  eventId,
  errorClass: classOf(lastError),
  waiting,
});

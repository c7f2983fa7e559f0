import { defineRoutes } from '../admin-route.js';
import { anyOf, constant, integer, object, text, time } from '../schema.js';
import {
  bindingName,
  clusterQuery,
  partitionNumber,
  offsetText,
  reasonText,
} from '../schemas/common-schemas.js';
import {
  edit,
  edited,
  letterPage,
  letterSearch,
  letterStats,
  mark,
  markReport,
  payload,
  rate,
} from '../schemas/letter-schemas.js';
import {
  actions,
  limit,
  operation,
  operationId,
  purged,
  replayed,
} from '../schemas/operation-schemas.js';

const params = { name: bindingName };

const instant = anyOf(time(), integer({ minimum: 0, description: 'Milliseconds since 1970.' }));

const wait = text({
  pattern: '^\\d{1,15}(\\.\\d{1,9})? ?(ms|s|m|h|d)$',
  description: "How long to wait for the end, at most '5m'. Default '30s'.",
});

const replayQuery = {
  ...clusterQuery,
  count: limit,
  from: instant,
  to: instant,
  all: constant(true),
  wait,
  rate,
  reason: reasonText,
};

const replayAnswers = {
  200: { description: 'The replay has ended.', body: replayed },
  202: { description: 'The replay goes on.', body: operation, hasLocation: true },
} as const;

export const letterRoutes = defineRoutes({
  searchDeadLetters: {
    method: 'POST',
    path: 'bindings/{name}/dlt/search',
    right: 'read',
    summary: 'Lists dead letters with their failure and what became of them, without payloads.',
    changes: false,
    params,
    query: object({}, clusterQuery),
    body: letterSearch,
    isBodyOptional: true,
    answers: { 200: { description: 'One page.', body: letterPage } },
    errors: [404, 503],
  },
  getPayload: {
    method: 'GET',
    path: 'bindings/{name}/dlt/letters/{partition}/{offset}/payload',
    right: 'payload',
    summary: 'Shows the value and the headers of one dead letter.',
    changes: false,
    params: { name: bindingName, partition: partitionNumber, offset: offsetText },
    query: object({}, clusterQuery),
    answers: { 200: { description: 'The payload.', body: payload } },
    errors: [404, 503],
  },
  editAndReplay: {
    method: 'POST',
    path: 'bindings/{name}/dlt/letters/{partition}/{offset}/edit',
    right: 'edit',
    summary: 'Replays one open letter with another value, key or headers.',
    changes: true,
    params: { name: bindingName, partition: partitionNumber, offset: offsetText },
    query: object({}, clusterQuery),
    body: edit,
    answers: { 200: { description: 'The letter is replayed.', body: edited } },
    errors: [404, 409, 503],
  },
  getDeadLetterStats: {
    method: 'GET',
    path: 'bindings/{name}/dlt/stats',
    right: 'read',
    summary: 'Counts dead letters by status, exception, reason, tier, age and partition.',
    changes: false,
    params,
    query: object({}, { ...clusterQuery, mostRead: integer({ minimum: 1, maximum: 100_000_000 }) }),
    answers: { 200: { description: 'The figures.', body: letterStats } },
    errors: [404, 503],
  },
  replay: {
    method: 'POST',
    path: 'bindings/{name}/dlt/replay',
    right: 'redrive',
    summary: 'Replays the oldest letters, or those of a time range, and waits for the end.',
    changes: true,
    params,
    query: object({}, replayQuery),
    answers: replayAnswers,
    errors: [404, 409, 503],
  },
  replayToTier: {
    method: 'POST',
    path: 'bindings/{name}/dlt/replay-to-tier',
    right: 'redrive',
    summary: 'Replays letters to a retry tier.',
    changes: true,
    params,
    query: object({ tier: integer({ minimum: 1, maximum: 1_000 }) }, replayQuery),
    answers: replayAnswers,
    errors: [404, 409, 503],
  },
  purge: {
    method: 'DELETE',
    path: 'bindings/{name}/dlt',
    right: 'purge',
    summary: 'Deletes the oldest letters: those before a time, or those of a plan.',
    changes: true,
    params,
    query: object(
      {},
      {
        ...clusterQuery,
        olderThan: text({
          minLength: 1,
          maxLength: 50,
          description: "A time in ISO 8601, an ISO duration such as 'P7D', or a text such as '7d'.",
        }),
        plan: operationId,
        reason: reasonText,
      },
    ),
    answers: { 200: { description: 'What was deleted.', body: purged } },
    errors: [404, 409, 503],
  },
  markDeadLetters: {
    method: 'POST',
    path: 'bindings/{name}/dlt/marks',
    right: 'redrive',
    summary: 'Gives open letters up, or opens letters again.',
    changes: true,
    params,
    query: object({}, clusterQuery),
    body: mark,
    answers: { 200: { description: 'How many have changed.', body: markReport } },
    errors: [404, 409, 503],
  },
  listActions: {
    method: 'GET',
    path: 'bindings/{name}/dlt/actions',
    right: 'read',
    summary: 'Lists marks and purges with who did it, when and why.',
    changes: false,
    params,
    query: object({}, clusterQuery),
    answers: { 200: { description: 'The latest first.', body: actions } },
    errors: [404, 409, 503],
  },
});

import { InvalidAdminRequestException } from '../../errors/admin-errors.js';
import type { LettersToMark } from '../../redrive/marking/mark-letters.js';
import type { RedriveTarget } from '../../redrive/planning/redrive-plan.js';
import type { AdminCaller, AdminReply, AdminRouteHandlers } from '../api/admin-reply.js';
import type { AdminInput } from '../api/admin-route.js';
import type { letterRoutes } from '../api/routes/letter-routes.js';
import {
  letterAnswer,
  payloadAnswer,
  positionAnswer,
  statsAnswer,
} from '../answers/letter-answers.js';
import { readFilter } from '../answers/letter-filters.js';
import { operationAnswer } from '../answers/operation-answers.js';
import { answerTime } from '../answers/answer-time.js';
import type { EventBusAdmin } from '../event-bus-admin.js';
import { bindingRef, noteOf, pathOf } from './binding-ref.js';
import { purgeTime, replaySelection, waitTime } from './replay-query.js';

type Routes = typeof letterRoutes;
type ReplayInput = AdminInput<Routes['replay']>;

export function letterHandlers(
  admin: EventBusAdmin,
  now: () => number,
): AdminRouteHandlers<Routes> {
  const replay = async (
    input: ReplayInput,
    caller: AdminCaller,
    to: RedriveTarget,
  ): Promise<AdminReply<Routes['replay']>> => {
    const { query } = input;
    const { rate } = query;
    const request = { ...replaySelection(query), to, rate, ...noteOf(caller, query) };
    const operation = await admin.replay(bindingRef(input), request, waitTime(query.wait));
    const { id } = operation.plan;
    const body = operationAnswer(operation);
    const isDone = operation.report.state === 'completed' || operation.report.state === 'cancelled';
    return isDone
      ? { status: 200, body: { replayed: body.replayed, operation: body } }
      : {
          status: 202,
          body,
          location: pathOf('bindings', input.params.name, 'dlt', 'operations', id),
        };
  };
  return {
    searchDeadLetters: async (input, { signal }) => {
      const { where, after, status, limit } = input.body;
      const { letters, next } = await admin.deadLetters(bindingRef(input), {
        ...(where && { where: readFilter(where) }),
        ...(after && { after: positionOf(after) }),
        ...{ status, limit, signal },
      });
      return {
        status: 200,
        body: { letters: letters.map(letterAnswer), ...(next && { next: positionAnswer(next) }) },
      };
    },
    getPayload: async (input) => {
      const letter = await admin.deadLetter(bindingRef(input), positionOf(input.params));
      return { status: 200, body: payloadAnswer(letter) };
    },
    editAndReplay: async (input, caller) => {
      const { encoding = 'utf8', headers, key, reason, value } = input.body;
      const edit = {
        ...(value !== undefined && { value: bytesOf('value', value, encoding) }),
        ...(key !== undefined && { key: bytesOf('key', key, encoding) }),
        ...(headers && { headers }),
      };
      const note = { ...noteOf(caller, {}), reason };
      const position = positionOf(input.params);
      return { status: 200, body: await admin.edit(bindingRef(input), position, edit, note) };
    },
    getDeadLetterStats: async (input, { signal }) => {
      const { mostRead } = input.query;
      const options = { signal, ...(mostRead !== undefined && { mostRead }) };
      const stats = await admin.deadLetterStats(bindingRef(input), options);
      return { status: 200, body: statsAnswer(stats) };
    },
    replay: (input, caller) => replay(input, caller, 'origin'),
    replayToTier: (input, caller) => replay(input, caller, { tier: input.query.tier }),
    purge: async (input, caller) => {
      const { olderThan, plan } = input.query;
      if ((olderThan === undefined) === (plan === undefined))
        throw refusedQuery('olderThan', 'or plan must be given, and not both');
      const asked = plan === undefined ? { before: purgeTime(olderThan, now()) } : { plan };
      const request = { ...asked, ...noteOf(caller, input.query) };
      const { deleted, partitions } = await admin.purge(bindingRef(input), request);
      return {
        status: 200,
        body: {
          deleted,
          partitions: partitions.map(({ partition, low, deleted: own, stoppedBy }) => ({
            ...{ partition, low: String(low), deleted: own },
            ...(stoppedBy && { stoppedBy }),
          })),
        },
      };
    },
    markDeadLetters: async (input, caller) => {
      const { at, where, status, reason } = input.body;
      if ((at === undefined) === (where === undefined))
        throw new InvalidAdminRequestException([
          { path: 'body.at', message: 'or where must be given, and not both' },
        ]);
      const letters: LettersToMark =
        at === undefined ? { where: readFilter(where!) } : { at: at.map(positionOf) };
      const note = { ...noteOf(caller, {}), reason };
      const { changed, unchanged } = await admin.mark(bindingRef(input), letters, status, note);
      return { status: 200, body: { changed, unchanged } };
    },
    listActions: async (input) => {
      const actions = await admin.actions(bindingRef(input));
      return {
        status: 200,
        body: {
          actions: actions.map(({ id, action, by, at, request, reason, result }) => ({
            ...{ id, action, by, at: answerTime(at), request },
            ...(reason !== undefined && { reason }),
            ...(result && { result }),
          })),
        },
      };
    },
  };
}

/** Refuses text that is no base64, because Node would leave out what it cannot read. */
function bytesOf(name: string, given: string | null, encoding: 'utf8' | 'base64'): Buffer | null {
  if (given === null) return null;
  const bytes = Buffer.from(given, encoding);
  if (encoding === 'utf8' || bytes.toString('base64') === given) return bytes;
  throw new InvalidAdminRequestException([{ path: `body.${name}`, message: 'is no base64' }]);
}

function positionOf({
  partition,
  offset,
}: {
  readonly partition: number;
  readonly offset: string;
}): { readonly partition: number; readonly offset: number } {
  return { partition, offset: Number(offset) };
}

function refusedQuery(name: string, message: string): InvalidAdminRequestException {
  return new InvalidAdminRequestException([{ path: `query.${name}`, message }]);
}

import type { AdminLetter } from '../../admin/api/schemas/letter-schemas.js';
import { CommandUsageError } from '../command-error.js';
import { numberOption } from '../command-options.js';
import type { Command, CommandCall } from '../command.js';
import { readFilter } from '../letter-selection.js';
import { tableOf } from '../text-table.js';
import { clusterOf, print, wordAt } from './command-parts.js';

const STATUSES = ['open', 'replayed', 'permanently-failed'] as const;

export const letterCommands: Readonly<Record<string, Command>> = {
  'dlt groups': {
    usage: 'dlt groups <binding>',
    summary: 'Counts the dead letters by cause and by status.',
    words: [1, 1],
    run: showGroups,
  },
  'dlt peek': {
    usage: 'dlt peek <binding> [--where <condition>] [--status <status>] [--limit <number>]',
    summary: 'Lists dead letters, without their values.',
    words: [1, 1],
    run: peek,
  },
  'dlt purge': {
    usage: 'dlt purge <binding> (--older-than <duration> | --plan <id>) [--reason <text>]',
    summary: 'Deletes the oldest dead letters: those before a time, or those of a plan.',
    words: [1, 1],
    run: purge,
  },
};

async function showGroups(call: CommandCall): Promise<void> {
  const answer = await call.client.getDeadLetterStats({
    params: { name: wordAt(call, 0) },
    query: clusterOf(call),
  });
  const { deadLetterTopic, count, byStatus, groups, sampled } = answer;
  print(call, answer, () => [
    `${deadLetterTopic}: ${count} dead letters`,
    ...(sampled ? [`Only ${sampled.read} of ${sampled.total} were read.`] : []),
    ...Object.entries(byStatus).map(([status, number]) => `  ${status}: ${number}`),
    '',
    ...tableOf(
      ['GROUP', 'COUNT', 'EXCEPTION', 'CAUSE', 'FIRST', 'LAST'],
      groups.map((group) => [
        group.id,
        group.count,
        group.exceptionClass,
        group.cause,
        group.firstSeen,
        group.lastSeen,
      ]),
    ),
  ]);
}

async function peek(call: CommandCall): Promise<void> {
  const { client, options } = call;
  const status = STATUSES.find((name) => name === options.status);
  if (options.status !== undefined && status === undefined)
    throw new CommandUsageError(`--status must be ${STATUSES.join(', ')}.`);
  const where = readFilter(options);
  const answer = await client.searchDeadLetters({
    params: { name: wordAt(call, 0) },
    query: clusterOf(call),
    body: {
      limit: numberOption(options, 'limit') ?? 20,
      ...(status && { status }),
      ...(where && { where }),
    },
  });
  print(call, answer, () => [
    ...tableOf(
      ['POSITION', 'STATUS', 'ORIGIN', 'KEY', 'REASON', 'EXCEPTION', 'GROUP', 'SINCE'],
      answer.letters.map(rowOf),
    ),
    ...(answer.next ? ['There are more: a larger --limit shows them.'] : []),
  ]);
}

function rowOf(letter: AdminLetter): readonly (string | null)[] {
  return [
    `${letter.position.partition}@${letter.position.offset}`,
    letter.status,
    `${letter.originalTopic}-${letter.originalPartition}@${letter.originalOffset}`,
    letter.key,
    letter.reason,
    letter.exceptionClass,
    letter.group,
    letter.deadLetteredAt,
  ];
}

async function purge(call: CommandCall): Promise<void> {
  const { client, options } = call;
  const { plan, reason } = options;
  const olderThan = options['older-than'];
  if ((plan === undefined) === (olderThan === undefined))
    throw new CommandUsageError('Say what to delete: --older-than 20d, or --plan <id>.');
  const answer = await client.purge({
    params: { name: wordAt(call, 0) },
    query: { ...clusterOf(call), plan, olderThan, reason },
  });
  print(call, answer, () => [
    `${answer.deleted} dead letters deleted`,
    ...tableOf(
      ['PARTITION', 'DELETED', 'FIRST OFFSET', 'STOPPED BY'],
      answer.partitions.map((part) => [part.partition, part.deleted, part.low, part.stoppedBy]),
    ),
  ]);
}

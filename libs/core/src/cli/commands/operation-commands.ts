import type { AdminOperation } from '../../admin/api/schemas/operation-schemas.js';
import { CommandUsageError } from '../command-error.js';
import { numberOption } from '../command-options.js';
import type { Command, CommandCall } from '../command.js';
import { readSelection } from '../letter-selection.js';
import { tableOf } from '../text-table.js';
import { clusterOf, print, wordAt } from './command-parts.js';

const ENDED = 'completed';

export const operationCommands: Readonly<Record<string, Command>> = {
  'dlt plan': {
    usage:
      'dlt plan <binding> (--where <condition> | --all | --limit <number>) [--tier <number>] [--id <id>]',
    summary: 'Plans a redrive, and replays nothing. The answer has the id for `dlt run`.',
    words: [1, 1],
    run: plan,
  },
  'dlt run': {
    usage:
      'dlt run <binding> <id> [--rate <letters per second>] [--canary <letters> [--on-approval]]',
    summary:
      'Runs a plan and shows its progress. Exit code 1 if it does not complete. With --canary, the rest follows if the first letters are handled.',
    words: [2, 2],
    run: run,
  },
  'dlt approve': {
    usage: 'dlt approve <binding> <id> [--reason <text>]',
    summary: 'Lets the rest of a redrive follow its canary.',
    words: [2, 2],
    run: approve,
  },
  'dlt watch': {
    usage: 'dlt watch <binding> <id>',
    summary: 'Shows the progress of a redrive that runs elsewhere.',
    words: [2, 2],
    run: follow,
  },
  'dlt cancel': {
    usage: 'dlt cancel <binding> <id>',
    summary: 'Cancels a redrive on all nodes. What was replayed stays replayed.',
    words: [2, 2],
    run: cancel,
  },
  'dlt operations': {
    usage: 'dlt operations <binding>',
    summary: 'Lists the redrives that the ledger knows, the latest first.',
    words: [1, 1],
    run: list,
  },
};

async function plan(call: CommandCall): Promise<void> {
  const { client, options } = call;
  const tier = numberOption(options, 'tier');
  const answer = await client.createOperation({
    params: { name: wordAt(call, 0) },
    query: clusterOf(call),
    body: {
      ...readSelection(options),
      ...(tier !== undefined && { to: { tier } }),
      ...(options.id !== undefined && { id: options.id }),
      ...(options.reason !== undefined && { reason: options.reason }),
      dryRun: true,
    },
  });
  print(call, answer, () => [
    `Plan ${answer.id}: ${answer.selected} dead letters of ${answer.deadLetterTopic} to ${answer.targetTopic}`,
    ...Object.entries(answer.notSelected).map(
      ([why, number]) => `  not selected, ${why}: ${number}`,
    ),
    ...tableOf(
      ['GROUP', 'COUNT', 'EXCEPTION', 'CAUSE'],
      answer.groups.map(({ id, count, exceptionClass, cause }) => [
        id,
        count,
        exceptionClass,
        cause,
      ]),
    ),
    `Run it: eventbus dlt run ${answer.binding} ${answer.id}`,
  ]);
}

async function run(call: CommandCall): Promise<void> {
  const { client, options } = call;
  const rate = numberOption(options, 'rate');
  const letters = numberOption(options, 'canary');
  const onApproval = options['on-approval'] === true;
  if (onApproval && letters === undefined)
    throw new CommandUsageError('--on-approval needs --canary <letters>.');
  await client.runOperation({
    params: { name: wordAt(call, 0), id: wordAt(call, 1) },
    query: clusterOf(call),
    body: {
      ...(rate !== undefined && { rate }),
      ...(letters !== undefined && {
        canary: { letters, continue: onApproval ? 'on-approval' : 'automatically' },
      }),
      ...(options.reason !== undefined && { reason: options.reason }),
    },
  });
  await follow(call);
}

async function follow(call: CommandCall): Promise<void> {
  const { client, options, output } = call;
  let last: AdminOperation | undefined;
  const changes = client.followOperation({
    params: { name: wordAt(call, 0), id: wordAt(call, 1) },
    query: clusterOf(call),
  });
  for await (const operation of changes) {
    last = operation;
    if (options.json === true) output.json(operation, 'one line');
    else output.progress(progressOf(operation));
  }
  if (last && options.json !== true) for (const line of reportOf(last)) output.line(line);
  if (last?.state !== ENDED) output.fail();
}

async function approve(call: CommandCall): Promise<void> {
  const { reason } = call.options;
  const answer = await call.client.approveOperation({
    params: { name: wordAt(call, 0), id: wordAt(call, 1) },
    query: clusterOf(call),
    ...(reason !== undefined && { body: { reason } }),
  });
  print(call, answer, () => reportOf(answer));
}

async function cancel(call: CommandCall): Promise<void> {
  const answer = await call.client.cancelOperation({
    params: { name: wordAt(call, 0), id: wordAt(call, 1) },
    query: clusterOf(call),
  });
  print(call, answer, () => reportOf(answer));
}

async function list(call: CommandCall): Promise<void> {
  const answer = await call.client.listOperations({
    params: { name: wordAt(call, 0) },
    query: clusterOf(call),
  });
  print(call, answer, () =>
    tableOf(
      ['ID', 'STATE', 'SELECTED', 'REPLAYED', 'FAILED', 'REMAINING', 'CREATED', 'BY'],
      answer.operations.map((operation) => [
        operation.id,
        operation.state,
        operation.selected,
        operation.replayed,
        operation.failed,
        operation.remaining,
        operation.createdAt,
        operation.createdBy,
      ]),
    ),
  );
}

const WIDTH = 24;

function progressOf({ state, selected, remaining }: AdminOperation): string {
  const done = selected - remaining;
  const filled = selected === 0 ? WIDTH : Math.round((done / selected) * WIDTH);
  return `[${'#'.repeat(filled).padEnd(WIDTH, '.')}] ${done} of ${selected}, ${state}`;
}

/** The figures of a redrive: selected = replayed + skipped + failed + remaining. */
function reportOf(operation: AdminOperation): readonly string[] {
  const { id, state, selected, replayed, skipped, failed, remaining, failure } = operation;
  const { canary, brakes = [] } = operation;
  const sum = Object.values(skipped).reduce((all, number) => all + number, 0);
  return [
    `Redrive ${id} is ${state}: ${selected} selected = ${replayed} replayed + ${sum} skipped + ${failed} failed + ${remaining} remaining`,
    ...Object.entries(skipped).map(([why, number]) => `  skipped, ${why}: ${number}`),
    ...(canary
      ? [
          `  canary: ${canary.verdict}, ${canary.good} good, ${canary.bad} bad, ${canary.undecided} undecided`,
        ]
      : []),
    ...brakes.map(({ node, reason }) => `  paused itself on ${node}: ${reason}`),
    ...(failure ? [`  ${failure.code}: ${failure.detail}`] : []),
  ];
}

import type { AdminCommandResult } from '../../admin/api/schemas/binding-schemas.js';
import { CommandUsageError } from '../command-error.js';
import { numberOption } from '../command-options.js';
import type { Command, CommandCall } from '../command.js';
import { tableOf } from '../text-table.js';
import { clusterOf, print, wordAt } from './command-parts.js';
import { reachLines, reachOf } from './fleet-commands.js';

const COMMANDS = ['start', 'stop', 'pause', 'resume'] as const;
type StateCommand = (typeof COMMANDS)[number];

export const bindingCommands: Readonly<Record<string, Command>> = {
  status: {
    usage: 'status [binding]',
    summary: 'Shows the bindings with their states, or one binding with its partitions.',
    words: [0, 1],
    run: (call) => (call.words.length === 0 ? showAll(call) : showOne(call)),
  },
  lag: {
    usage: 'lag [binding]',
    summary: 'Shows how many records of the main topic are not committed.',
    words: [0, 1],
    run: showLag,
  },
  health: {
    usage: 'health',
    summary: 'Shows the health of each binding with its reasons. Exit code 1 if it is DOWN.',
    words: [0, 0],
    run: showHealth,
  },
  start: stateCommand('start', 'Starts reading.'),
  stop: stateCommand('stop', 'Ends running handlers, commits and leaves the group.'),
  pause: stateCommand('pause', 'Pauses a binding, or one retry tier, without leaving the group.'),
  resume: stateCommand('resume', 'Ends the pause of a binding, or of one retry tier.'),
};

async function showAll(call: CommandCall): Promise<void> {
  const answer = await call.client.listBindings();
  const rows = answer.bindings.map(({ name, cluster, state, since, pauses }) => [
    name,
    cluster,
    state,
    since,
    pauses.join(', '),
  ]);
  print(call, answer, () => tableOf(['BINDING', 'CLUSTER', 'STATE', 'SINCE', 'PAUSES'], rows));
}

async function showOne(call: CommandCall): Promise<void> {
  const answer = await call.client.getBinding({
    params: { name: wordAt(call, 0) },
    query: clusterOf(call),
  });
  const { name, cluster, state, health, topic, groupId, counts, lag, circuit, containers } = answer;
  print(call, answer, () => [
    ...tableOf(
      ['BINDING', 'CLUSTER', 'STATE', 'HEALTH', 'TOPIC', 'GROUP', 'LAG', 'CIRCUIT'],
      [[name, cluster, state, health.status, topic, groupId, lag, circuit?.state]],
    ),
    ...health.reasons,
    '',
    ...tableOf(Object.keys(counts), [Object.values(counts)]),
    '',
    ...tableOf(
      ['CONTAINER', 'TOPIC', 'STATE', 'PARTITIONS', 'HANDLERS', 'PAUSES'],
      containers.map((container) => [
        container.id,
        container.topic,
        container.state,
        container.assignment.length,
        container.runningHandlers,
        container.pauses.join(', '),
      ]),
    ),
  ]);
}

async function showLag(call: CommandCall): Promise<void> {
  const names =
    call.words.length > 0
      ? [{ name: wordAt(call, 0), cluster: call.options.cluster }]
      : (await call.client.listBindings()).bindings;
  const details = await Promise.all(
    names.map(({ name, cluster }) =>
      call.client.getBinding({ params: { name }, query: { cluster } }),
    ),
  );
  const answer = details.map(({ name, cluster, topic, groupId, lag }) => ({
    name,
    cluster,
    topic,
    groupId,
    lag,
  }));
  print(call, answer, () =>
    tableOf(
      ['BINDING', 'CLUSTER', 'TOPIC', 'GROUP', 'LAG'],
      answer.map(({ name, cluster, topic, groupId, lag }) => [
        name,
        cluster,
        topic,
        groupId,
        lag ?? 'unknown',
      ]),
    ),
  );
}

async function showHealth(call: CommandCall): Promise<void> {
  const answer = await call.client.getHealth();
  print(call, answer, () => [
    answer.status,
    ...tableOf(
      ['BINDING', 'CLUSTER', 'STATE', 'HEALTH', 'REASONS'],
      answer.bindings.map(({ name, cluster, state, status, reasons }) => [
        name,
        cluster,
        state,
        status,
        reasons.join('; '),
      ]),
    ),
  ]);
  if (answer.status === 'DOWN') call.output.fail();
}

function stateCommand(command: StateCommand, summary: string): Command {
  const hasTiers = command === 'pause' || command === 'resume';
  return {
    usage: `${command} <binding>${hasTiers ? ' [--tier <number>]' : ''} [--reason <text>] [--scope process|fleet] [--wait <time>] [--valid-for <time>]`,
    summary,
    words: [1, 1],
    run: async (call) => {
      const answer = await changeState(call, command);
      print(call, answer, () => [`${answer.name} is ${answer.state}`, ...reachLines(answer)]);
      if (!answer.reach.isComplete) call.output.fail();
    },
  };
}

async function changeState(call: CommandCall, command: StateCommand): Promise<AdminCommandResult> {
  const { client, options } = call;
  const tier = numberOption(options, 'tier');
  const name = wordAt(call, 0);
  const rest = {
    query: { ...clusterOf(call), ...reachOf(call) },
    ...(options.reason !== undefined && { body: { reason: options.reason } }),
  };
  if (tier !== undefined) {
    if (command === 'pause') return client.pauseTier({ params: { name, tier }, ...rest });
    if (command === 'resume') return client.resumeTier({ params: { name, tier }, ...rest });
    throw new CommandUsageError(
      `${command} has no --tier: only pause and resume have it. Leave --tier out.`,
    );
  }
  const request = { params: { name }, ...rest };
  switch (command) {
    case 'start':
      return client.startBinding(request);
    case 'stop':
      return client.stopBinding(request);
    case 'pause':
      return client.pauseBinding(request);
    case 'resume':
      return client.resumeBinding(request);
  }
}

import type { AdminCommandResult } from '../../admin/api/schemas/binding-schemas.js';
import { CommandUsageError } from '../command-error.js';
import type { Command, CommandCall } from '../command.js';
import { tableOf } from '../text-table.js';
import { print } from './command-parts.js';

export const fleetCommands: Readonly<Record<string, Command>> = {
  instances: {
    usage: 'instances',
    summary: 'Shows the processes of the fleet with their assignments, pauses, lag and version.',
    words: [0, 0],
    run: showInstances,
  },
};

/** How a command is to reach other processes, as a part of the query. */
export function reachOf({ options }: CommandCall): {
  readonly scope?: 'process' | 'fleet';
  readonly wait?: string;
  readonly validFor?: string;
} {
  const { scope, wait, 'valid-for': validFor } = options;
  if (scope !== undefined && scope !== 'process' && scope !== 'fleet')
    throw new CommandUsageError('Write --scope process or --scope fleet.');
  return {
    ...(scope !== undefined && { scope }),
    ...(wait !== undefined && { wait }),
    ...(validFor !== undefined && { validFor }),
  };
}

/** Says which processes have done what a command says. */
export function reachLines({ reach }: AdminCommandResult): readonly string[] {
  const { instances, isComplete, scope } = reach;
  if (scope === 'process' || !instances) return ['Only this process was told.'];
  const rows = instances.map(({ code, instance, message, reportedAt, result, state }) => [
    instance,
    result,
    state,
    code ?? message ?? (reportedAt === undefined ? '' : `last report ${reportedAt}`),
  ]);
  const done = instances.filter(({ result }) => result === 'done' || result === 'unchanged').length;
  return [
    `${done} of ${instances.length} instances have done it${isComplete ? '' : '. Not complete'}`,
    ...tableOf(['INSTANCE', 'RESULT', 'STATE', 'DETAIL'], rows),
  ];
}

async function showInstances(call: CommandCall): Promise<void> {
  const answer = await call.client.listInstances();
  const rows = answer.instances.flatMap(({ bindings, isSilent, name, reportedAt, version }) =>
    bindings.map(({ assignment, lag, name: binding, pausedTiers, pauses, state }) => [
      name,
      version,
      isSilent ? `silent since ${reportedAt}` : reportedAt,
      binding,
      state,
      [...pauses, ...pausedTiers.map((tier) => `tier ${tier}`)].join(', '),
      assignment.reduce((sum, { partitions }) => sum + partitions.length, 0),
      lag ?? 'unknown',
    ]),
  );
  print(call, answer, () => [
    ...tableOf(
      ['INSTANCE', 'VERSION', 'REPORTED', 'BINDING', 'STATE', 'PAUSES', 'PARTITIONS', 'LAG'],
      rows,
    ),
    ...(answer.scope === 'process'
      ? ['Only this process is known: fleet.controlTopic is not configured.']
      : []),
    ...answer.orders.map(
      ({ at, binding, by, order, reason, tier }) =>
        `In force: ${binding}${tier === undefined ? '' : ` tier ${tier}`} ${order} since ${at}${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`,
    ),
  ]);
}

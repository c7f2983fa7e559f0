import { CommandUsageError } from '../command-error.js';
import type { Command, CommandCall } from '../command.js';
import { tableOf } from '../text-table.js';
import { clusterOf, print, wordAt } from './command-parts.js';

export const configurationCommands: Readonly<Record<string, Command>> = {
  config: {
    usage: 'config <binding> [--set <option>=<value>] [--reason <text>]',
    summary: 'Shows options with their origins, or changes them in one process until it ends.',
    words: [1, 1],
    run: runConfig,
  },
};

async function runConfig(call: CommandCall): Promise<void> {
  const { client, options } = call;
  const request = { params: { name: wordAt(call, 0) }, query: clusterOf(call) };
  const { reason, set } = options;
  const answer = set
    ? await client.changeConfiguration({
        ...request,
        body: {
          changes: Object.fromEntries(set.map(changeOf)),
          ...(reason !== undefined && { reason }),
        },
      })
    : await client.getConfiguration(request);
  const rows = answer.options.map(({ isChangeable, key, origin, source, value }) => [
    key,
    String(value),
    origin,
    source,
    isChangeable ? '' : 'needs a restart',
  ]);
  print(call, answer, () => tableOf(['OPTION', 'VALUE', 'ORIGIN', 'SOURCE', ''], rows));
}

/** Without a value, an earlier change ends. */
function changeOf(text: string): readonly [key: string, value: string | number | boolean | null] {
  const [, key = '', value = ''] = /^([\w.]+)=(.*)$/.exec(text) ?? [];
  if (key === '')
    throw new CommandUsageError(`--set ${text} is no change. Write --set concurrency=4.`);
  if (value === '') return [key, null];
  if (value === 'true' || value === 'false') return [key, value === 'true'];
  return [key, Number.isFinite(Number(value)) ? Number(value) : value];
}

import type { OutboxMode, OutboxModuleOptions } from './outbox-options.js';

const DISPATCHING: readonly OutboxMode[] = ['singleNode', 'multiNode', 'ordered', 'leased'];
const WITH_RETRIES: readonly OutboxMode[] = ['singleNode', 'multiNode', 'leased'];

/** The modes in which an option has an effect. Options that are not listed have one in all modes. */
const EFFECTIVE_MODES: Partial<Record<keyof OutboxModuleOptions, readonly OutboxMode[]>> = {
  claimTimeoutMs: ['multiNode'],
  leased: ['leased'],
  workerCount: WITH_RETRIES,
  maxAttempts: WITH_RETRIES,
  retryPolicy: WITH_RETRIES,
  skipRecentMs: ['singleNode', 'multiNode', 'ordered'],
  intervalMs: DISPATCHING,
  batchSize: DISPATCHING,
  drainTimeoutMs: DISPATCHING,
  interceptors: DISPATCHING,
  metrics: DISPATCHING,
  routes: DISPATCHING,
};

/** Returns a line for each option that has no effect with the others. */
export function ineffectiveOptions(options: OutboxModuleOptions): readonly string[] {
  const { mode = 'singleNode', store, storeOptions } = options;
  const names = Object.keys(EFFECTIVE_MODES) as (keyof OutboxModuleOptions)[];
  const byMode = names.flatMap((name) => {
    const modes = EFFECTIVE_MODES[name];
    if (options[name] === undefined || !modes || modes.includes(mode)) return [];
    return `The option ${name} of OutboxModule has no effect with the mode ${mode}, only with ${modes.join(', ')}. Remove it, or change the mode.`;
  });
  const hasBoth = store !== undefined && storeOptions !== undefined;
  return hasBoth
    ? [
        ...byMode,
        'The option storeOptions of OutboxModule has no effect beside store. Give these options to the store itself.',
      ]
    : byMode;
}

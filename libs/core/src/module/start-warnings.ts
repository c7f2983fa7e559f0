import type { ResolvedOptions } from '../config/resolved-options.js';
import type { Discovered } from '../discovery/handler-explorer.js';
import type { EventBusKernel } from './event-bus-kernel.js';

/** Time for `app.enableShutdownHooks()` to be called after the application was initialised. */
const HOOKS_PATIENCE_MS = 1_000;

/** What is no reason to stop, but nobody should have to find out by himself. */
export function warnings(options: ResolvedOptions): readonly string[] {
  return [...enablement(options), ...unused(options), ...pending(options)];
}

function enablement({ enabled, bindings }: ResolvedOptions): readonly string[] {
  if (enabled !== 'unconfigured') return [];
  return [
    `The event bus is off: enabled is 'if-configured', and no brokers are given. ${bindings.length} binding(s) are not read.`,
  ];
}

function unused({ unusedKeys }: ResolvedOptions): readonly string[] {
  return unusedKeys.map(
    ({ source, key, reason }) =>
      `${source} sets ${key}, which the event bus does not use: ${reason}`,
  );
}

function pending({ pendingKeys }: ResolvedOptions): readonly string[] {
  if (pendingKeys.length === 0) return [];
  const paths = pendingKeys.map(({ path }) => path).join(', ');
  return [`These options are accepted, but have no effect in this version: ${paths}.`];
}

/** What was found in the application, and waits for the failure road: it must not look as if it worked. */
export function idleParts(
  { dltHandlers, dltAlerts }: Pick<Discovered, 'dltHandlers' | 'dltAlerts'>,
  hasClassifier: boolean,
): readonly string[] {
  const found = [
    ...dltHandlers.map(({ origin }) => `@DltHandler on ${origin}`),
    ...dltAlerts.map(({ origin }) => `@DltAlert on ${origin}`),
    ...(hasClassifier ? ['the provider of EXCEPTION_CLASSIFIER'] : []),
  ];
  if (found.length === 0) return [];
  return [`Nothing calls these in this version: ${found.join(', ')}.`];
}

/** Without the hooks SIGTERM ends the process on the spot: nothing is drained. */
export function warnOfMissingShutdownHooks({ runtime, logger }: EventBusKernel): void {
  const look = (): void => {
    if (process.listenerCount('SIGTERM') > 0) return;
    logger.warn(
      'Nobody listens to SIGTERM: the process would end without draining the event bus. Call app.enableShutdownHooks().',
    );
  };
  runtime.setTimer(look, HOOKS_PATIENCE_MS, { background: true });
}

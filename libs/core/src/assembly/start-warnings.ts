import type { Timer } from '@nest-event-bus/broker/runtime';
import type { ResolvedOptions } from '../config/resolving/resolved-options.js';
import type { DltHandlerDefinition } from '../discovery/exploring/dlt-handler-definition.js';
import { appliesTo } from '../discovery/exploring/match-handlers.js';
import type { Discovered } from '../discovery/exploring/handler-explorer.js';
import type { DltStrategy } from '../model/outcomes/dlt-strategy.js';
import type { EventBusKernel } from './event-bus-kernel.js';

/** Time for `app.enableShutdownHooks()` to be called after the application was initialised. */
const HOOKS_CHECK_DELAY_MS = 1_000;

/** What is no reason to stop, but nobody should have to find out by himself. */
export function startWarnings(options: ResolvedOptions): readonly string[] {
  return [...enablement(options), ...unused(options), ...ineffectiveOptionWarnings(options)];
}

/** Of all bindings, or of one that is registered at run time. */
export const ineffectiveOptionWarnings = ({
  pendingKeys,
  ineffective,
}: Pick<ResolvedOptions, 'pendingKeys' | 'ineffective'>): readonly string[] => [
  ...pending(pendingKeys),
  ...ineffective,
];

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

function pending(pendingKeys: ResolvedOptions['pendingKeys']): readonly string[] {
  if (pendingKeys.length === 0) return [];
  const paths = pendingKeys.map(({ path }) => path).join(', ');
  return [`These options are accepted, but have no effect in this version: ${paths}.`];
}

/** Strategies that somebody of the application has to carry out, where nobody does: their records are only stored. */
export function strategiesWithoutHandler(
  { bindings, enabled }: ResolvedOptions,
  { dltHandlers, dltAlerts }: Pick<Discovered, 'dltHandlers' | 'dltAlerts'>,
): readonly string[] {
  if (enabled !== 'enabled') return [];
  const needed = [
    { strategy: 'CUSTOM', decorator: '@DltHandler', found: dltHandlers },
    { strategy: 'ALERT_AND_STORE', decorator: '@DltAlert', found: dltAlerts },
  ] as const;
  return needed.flatMap(({ strategy, decorator, found }) =>
    bindings
      .filter(({ dlt }) => dlt.strategy === strategy)
      .filter(({ name }) => !found.some(({ binding }) => (binding ?? name) === name))
      .map(
        ({ name }) =>
          `Binding '${name}' has dlt.strategy '${strategy}', but no ${decorator} is there for it: its dead letters are only stored. Add one, or set dlt.strategy to 'STORE_ONLY'.`,
      ),
  );
}

/** What was found for a binding whose `dlt.strategy` never asks for it: it must not look as if it worked. */
export function unusedDltHandlers(
  { bindings, enabled }: ResolvedOptions,
  { dltHandlers, dltAlerts }: Pick<Discovered, 'dltHandlers' | 'dltAlerts'>,
): readonly string[] {
  if (enabled !== 'enabled') return [];
  const idle = (strategy: DltStrategy, found: readonly DltHandlerDefinition[]) =>
    found.filter((each) => {
      const meant = bindings.filter((binding) => appliesTo(binding)(each));
      // One of another cluster may be registered later.
      const isForLater = each.cluster !== undefined && meant.length === 0;
      return !isForLater && !meant.some(({ dlt }) => dlt.strategy === strategy);
    });
  return [
    ...idle('CUSTOM', dltHandlers).map(
      ({ origin, binding }) =>
        `Nothing calls @DltHandler on ${origin}: binding '${binding}' has no dlt.strategy 'CUSTOM'.`,
    ),
    ...idle('ALERT_AND_STORE', dltAlerts).map(
      ({ origin, binding }) =>
        `Nothing calls @DltAlert on ${origin}: ${binding === undefined ? 'no binding has' : `binding '${binding}' has no`} dlt.strategy 'ALERT_AND_STORE'.`,
    ),
  ];
}

/** Without the hooks SIGTERM ends the process on the spot: nothing is drained. The timer is for who closes the bus before. */
export function warnAboutMissingShutdownHooks({ runtime, logger }: EventBusKernel): Timer {
  const look = (): void => {
    if (process.listenerCount('SIGTERM') > 0) return;
    logger.warn(
      'Nobody listens to SIGTERM: the process would end without draining the event bus. Call app.enableShutdownHooks().',
    );
  };
  return runtime.setTimer(look, HOOKS_CHECK_DELAY_MS, { background: true });
}

import type { Timer } from '@nest-event-bus/broker/runtime';
import type { ResolvedOptions } from '../config/resolving/resolved-options.js';
import type { DltHandlerDefinition } from '../discovery/exploring/dlt-handler-definition.js';
import { appliesTo } from '../discovery/exploring/match-handlers.js';
import type { Discovered } from '../discovery/exploring/handler-explorer.js';
import type { DltStrategy } from '../model/outcomes/dlt-strategy.js';
import type { ReplaySchedule } from '../redrive/schedule/replay-schedule.js';
import type { EventBusKernel } from './event-bus-kernel.js';

/**
 * Delay of the check, because `app.enableShutdownHooks()` may be called after the application was
 * initialised.
 */
const HOOKS_CHECK_DELAY_MS = 1_000;

/**
 * Returns warnings about options that do not prevent the start, but probably do not have the
 * intended effect.
 */
export function startWarnings(options: ResolvedOptions): readonly string[] {
  return [...disabledBus(options), ...unusedKeyWarnings(options), ...options.ineffective];
}

function disabledBus({ enabled, bindings }: ResolvedOptions): readonly string[] {
  if (enabled !== 'unconfigured') return [];
  return [
    `The event bus is off: enabled is 'if-configured', and no brokers are given. ${bindings.length} binding(s) are not read.`,
  ];
}

function unusedKeyWarnings({ unusedKeys }: ResolvedOptions): readonly string[] {
  return unusedKeys.map(
    ({ source, key, reason }) =>
      `${source} sets ${key}, which the event bus does not use: ${reason}`,
  );
}

/**
 * Warns of bindings whose `dlt.strategy` needs a handler that the application does not have: their
 * dead letters are only stored.
 */
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
          `Binding '${name}' has dlt.strategy '${strategy}', but there is no ${decorator} for it: its dead letters are only stored. Add one, or set dlt.strategy to 'STORE_ONLY'.`,
      ),
  );
}

/** Warns of bindings whose dead letters are to be replayed by a schedule that nobody keeps. */
export function replaysWithoutSchedule(
  { bindings, enabled }: ResolvedOptions,
  { isAttached }: Pick<ReplaySchedule, 'isAttached'>,
): readonly string[] {
  if (enabled !== 'enabled' || isAttached) return [];
  return bindings
    .filter(({ dlt }) => dlt.strategy === 'SCHEDULED_REPLAY')
    .map(
      ({ name }) =>
        `Binding '${name}' has dlt.strategy 'SCHEDULED_REPLAY', but no schedule replays its dead letters. Import EventBusScheduleModule from '@nest-event-bus/core/schedule', or call DltReplayService.replayDue.`,
    );
}

/**
 * Returns warnings about dead-letter handlers that are never called, because their binding has
 * another `dlt.strategy`.
 */
export function unusedDltHandlers(
  { bindings, enabled }: ResolvedOptions,
  { dltHandlers, dltAlerts }: Pick<Discovered, 'dltHandlers' | 'dltAlerts'>,
): readonly string[] {
  if (enabled !== 'enabled') return [];
  const uncalled = (strategy: DltStrategy, handlers: readonly DltHandlerDefinition[]) =>
    handlers.filter((handler) => {
      const matching = bindings.filter((binding) => appliesTo(binding)(handler));
      // A binding of the named cluster may still be registered at run time.
      const mayMatchLater = handler.cluster !== undefined && matching.length === 0;
      return !mayMatchLater && !matching.some(({ dlt }) => dlt.strategy === strategy);
    });
  return [
    ...uncalled('CUSTOM', dltHandlers).map(
      ({ origin, binding }) =>
        `@DltHandler on ${origin} is never called: binding '${binding}' has no dlt.strategy 'CUSTOM'.`,
    ),
    ...uncalled('ALERT_AND_STORE', dltAlerts).map(
      ({ origin, binding }) =>
        `@DltAlert on ${origin} is never called: ${binding === undefined ? 'no binding has' : `binding '${binding}' has no`} dlt.strategy 'ALERT_AND_STORE'.`,
    ),
  ];
}

/**
 * Warns if SIGTERM has no listener: without shutdown hooks the process ends at once, and nothing is
 * drained. Returns the timer, so that the check is cancelled if the bus is closed earlier.
 */
export function warnAboutMissingShutdownHooks({ runtime, logger }: EventBusKernel): Timer {
  const check = (): void => {
    if (process.listenerCount('SIGTERM') > 0) return;
    logger.warn(
      'SIGTERM has no listener: the process would end without draining the event bus. Call app.enableShutdownHooks().',
    );
  };
  return runtime.setTimer(check, HOOKS_CHECK_DELAY_MS, { background: true });
}

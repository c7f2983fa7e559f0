import { type DriverLogger, errorReasonOf } from '@nest-event-bus/broker';
import { asError } from '../../errors/as-error.js';
import { bindingKey, bindingNameOf, type BindingRef } from '../../model/states/binding-ref.js';
import type { BindingSnapshot, ContainerRegistration } from '../container-registration.js';
import type { ContainerRegistry } from '../container-registry.js';
import type { LifecycleManager } from './lifecycle-manager.js';

export interface StartupReport {
  readonly started: readonly BindingSnapshot[];
  /** Bindings that could not start, for example because the driver refused an option. */
  readonly failed: readonly {
    readonly binding: string;
    readonly cluster: string;
    readonly error: Error;
  }[];
}

/**
 * Starts every binding with `autoStartup`, and returns when all of them have begun to join.
 * JoinSlots limits how many join at the same time, and health shows their progress, so the start
 * waits for no broker. `isStopped` tells which bindings the fleet was told to stop.
 */
export async function startBindings(
  registry: ContainerRegistry,
  lifecycle: LifecycleManager,
  logger: DriverLogger,
  isStopped: (registration: ContainerRegistration) => boolean = () => false,
): Promise<StartupReport> {
  const refs = registry
    .listAll()
    .filter(({ config, state }) => config.autoStartup && state === 'CREATED')
    .filter((registration) => {
      if (!isStopped(registration)) return true;
      warnOfFleetStop(logger, registration);
      return false;
    })
    .map(({ cluster, bindingName }) => ({ cluster, name: bindingName }));
  const started: BindingSnapshot[] = [];
  const failed: StartupReport['failed'][number][] = [];
  const startOne = async (ref: Exclude<BindingRef, string>): Promise<void> => {
    try {
      started.push(await lifecycle.start(ref, { reason: 'autoStartup', by: 'event-bus' }));
    } catch (error) {
      failed.push({ binding: bindingNameOf(ref), cluster: ref.cluster, error: asError(error) });
      logger.error('A binding could not start', {
        binding: bindingKey(ref.cluster, ref.name),
        error: errorReasonOf(error),
      });
    }
  };
  await Promise.allSettled(refs.map(startOne));
  return { started, failed };
}

export function warnOfFleetStop(
  logger: DriverLogger,
  { bindingName: binding, cluster }: ContainerRegistration,
): void {
  logger.warn('A binding is not started: an order of the fleet keeps it stopped', {
    ...{ binding, cluster },
  });
}

import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import type { ContainerRegistration } from '../containers/container-registration.js';
import { ContainerRegistry } from '../containers/container-registry.js';
import { SchedulerMissingException } from '../errors/redrive-errors.js';
import { ReplaySchedule, type ReplayJob } from '../redrive/schedule/replay-schedule.js';

/**
 * Adds an interval to Nest's SchedulerRegistry for each binding with `dlt.strategy:
 * 'SCHEDULED_REPLAY'`. Deleting the interval there ends the job.
 */
@Injectable()
export class DltReplayScheduler implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  readonly #jobs = new Map<string, ReplayJob>();
  readonly #schedule: ReplaySchedule;
  #unsubscribe: (() => void) | undefined;

  constructor(
    @Inject(ModuleRef) private readonly modules: ModuleRef,
    @Inject(ContainerRegistry) private readonly bindings: ContainerRegistry,
  ) {
    this.#schedule = modules.get(ReplaySchedule, { strict: false });
    this.#schedule.attach();
  }

  onModuleInit(): void {
    this.#requireScheduler();
  }

  onApplicationBootstrap(): void {
    for (const registration of this.bindings.listAll()) this.#add(registration);
    this.#unsubscribe = this.bindings.onChange(({ kind, registration }) => {
      if (kind === 'registered') this.#add(registration);
      if (kind === 'unregistered') this.#remove(nameOf(registration));
    });
  }

  onModuleDestroy(): void {
    this.#unsubscribe?.();
    for (const name of this.#jobs.keys()) this.#remove(name);
  }

  #add(registration: ContainerRegistration): void {
    const { bindingName, cluster, config } = registration;
    if (config.dlt.strategy !== 'SCHEDULED_REPLAY') return;
    const scheduler = this.#requireScheduler();
    const name = nameOf(registration);
    // The registry is told first, because the job looks whether it is still there.
    const handle: { job?: ReplayJob } = {};
    scheduler.addInterval(name, handle);
    handle.job = this.#schedule.repeat({
      ref: { cluster, name: bindingName },
      name: bindingName,
      intervalMs: config.dlt.replay.intervalMs,
      isWanted: () => scheduler.doesExist('interval', name),
    });
    this.#jobs.set(name, handle.job);
  }

  #remove(name: string): void {
    this.#jobs.get(name)?.cancel();
    this.#jobs.delete(name);
    const scheduler = this.#requireScheduler();
    if (scheduler.doesExist('interval', name)) scheduler.deleteInterval(name);
  }

  #requireScheduler(): SchedulerRegistry {
    try {
      return this.modules.get(SchedulerRegistry, { strict: false });
    } catch {
      throw new SchedulerMissingException();
    }
  }
}

const nameOf = ({ bindingName, cluster }: ContainerRegistration): string =>
  `eventbus-replay-${cluster === 'default' ? '' : `${cluster}:`}${bindingName}`;

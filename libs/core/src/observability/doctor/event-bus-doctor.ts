import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ContainerRegistry } from '../../containers/container-registry.js';
import type { BindingRef } from '../../model/states/binding-ref.js';
import type { LagReader } from '../../model/states/lag.js';
import { diagnose } from './diagnose.js';

export interface DoctorParts {
  readonly registry: Pick<ContainerRegistry, 'listAll' | 'require'>;
  readonly lag: LagReader;
  readonly runtime: Pick<Runtime, 'now'>;
}

/** What is wrong with a binding, and what to do, as a text for people. */
export interface Diagnosis {
  readonly binding: string;
  readonly cluster: string;
  readonly text: string;
}

/** Says what is wrong with each binding and what to do. Asks no broker. */
export class EventBusDoctor {
  constructor(private readonly parts: DoctorParts) {}

  /** Throws for a binding that does not exist. */
  diagnose(ref: BindingRef): Diagnosis {
    const { registry, lag, runtime } = this.parts;
    const registration = registry.require(ref);
    const { bindingName: binding, cluster } = registration;
    const own = lag.of({ name: binding, cluster });
    const text = diagnose({ registration, lag: own, now: runtime.now() });
    return { binding, cluster, text };
  }

  diagnoseAll(): readonly Diagnosis[] {
    return this.parts.registry
      .listAll()
      .map(({ bindingName: name, cluster }) => this.diagnose({ name, cluster }));
  }
}

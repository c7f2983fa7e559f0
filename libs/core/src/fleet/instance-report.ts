import { containersOf, type ContainerRegistration } from '../containers/container-registration.js';
import type { BindingLag } from '../model/states/lag.js';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ContainerRegistry } from '../containers/container-registry.js';
import type { BindingRef } from '../model/states/binding-ref.js';
import type { FleetBinding, InstanceBinding, InstanceEntry } from './fleet-entry.js';

export interface InstanceReportParts {
  readonly instance: string;
  readonly version: string;
  readonly reportIntervalMs: number;
  readonly startedAt: number;
  readonly registry: Pick<ContainerRegistry, 'listAll'>;
  readonly lagOf: (ref: BindingRef) => BindingLag | undefined;
  readonly runtime: Pick<Runtime, 'hostname' | 'now'>;
}

/** Describes this process as it is now. */
export function instanceReport(parts: InstanceReportParts): InstanceEntry {
  const { instance: name, lagOf, registry, reportIntervalMs, runtime, startedAt, version } = parts;
  const bindings = registry
    .listAll()
    .map((each) => bindingReport(each, lagOf({ cluster: each.cluster, name: each.bindingName })));
  return {
    ...{ kind: 'instance', name, host: runtime.hostname(), version, reportIntervalMs },
    ...{ startedAt, at: runtime.now(), bindings },
  };
}

export function fleetBindingOf({
  bindingName: name,
  cluster,
  config: { groupId },
}: ContainerRegistration): FleetBinding {
  return { name, cluster, groupId };
}

function bindingReport(
  registration: ContainerRegistration,
  lag: BindingLag | undefined,
): InstanceBinding {
  const { state, pauses, retryTierContainers } = registration;
  const assigned = containersOf(registration).flatMap(({ status }) => status.assignment);
  return {
    ...fleetBindingOf(registration),
    state,
    pauses,
    pausedTiers: retryTierContainers
      .filter(({ status }) => status.pauses.includes('tier'))
      .map(({ tier }) => tier),
    assignment: byTopic(assigned),
    lag: assignedLag(assigned, lag),
  };
}

type Assigned = readonly { readonly topic: string; readonly partition: number }[];

function byTopic(assigned: Assigned): InstanceBinding['assignment'] {
  const topics = new Map<string, number[]>();
  for (const { topic, partition } of assigned)
    topics.set(topic, [...(topics.get(topic) ?? []), partition]);
  return [...topics].map(([topic, partitions]) => ({
    topic,
    partitions: partitions.toSorted((one, other) => one - other),
  }));
}

/** Sums the lag of the assigned partitions. Null if it is not known of all of them. */
function assignedLag(assigned: Assigned, lag: BindingLag | undefined): number | null {
  if (lag?.at === undefined || lag.error !== undefined) return null;
  const known = new Map(
    [lag.main, ...lag.tiers].flatMap(({ partitions }) =>
      partitions.map(({ topic, partition, records }) => [`${topic}/${partition}`, records]),
    ),
  );
  let sum = 0;
  for (const { topic, partition } of assigned) {
    const records = known.get(`${topic}/${partition}`);
    if (records === undefined) return null;
    sum += records;
  }
  return sum;
}

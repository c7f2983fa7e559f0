import { containersOf, type ContainerRegistration } from '../containers/container-registration.js';
import type { ContainerStatus } from '../containers/health/container-status.js';
import type { MessageContainer } from '../containers/message-container.js';
import type { MetricSample } from './metric-family.js';

type Labels = MetricSample['labels'];

/** Values of a container, read in one step, so that all its samples are consistent. */
export interface ContainerReading {
  /** Labels `binding`, `cluster`, `topic` and `tier`. */
  readonly labels: Labels;
  readonly counts: MessageContainer['counts'];
  readonly status: ContainerStatus;
  readonly topic: string;
  /** Group of the container. */
  readonly group: string;
  readonly bufferedBytes: number;
  readonly measures: MessageContainer['measuredValues'];
  /** Partitions that had a record, or that are assigned now. */
  readonly partitions: MessageContainer['partitionOutcomes'];
}

export interface BindingReading {
  /** Labels `binding` and `cluster`. */
  readonly labels: Labels;
  readonly registration: ContainerRegistration;
  readonly containers: readonly ContainerReading[];
}

export function readBinding(registration: ContainerRegistration): BindingReading {
  const { bindingName, cluster } = registration;
  const labels = { binding: bindingName, cluster };
  const containers = containersOf(registration).map((container) => {
    const {
      topic,
      tier,
      groupId,
      counts,
      status,
      bufferedBytes,
      measuredValues,
      partitionOutcomes,
    } = container;
    return {
      labels: { ...labels, topic, tier: String(tier) },
      counts,
      status,
      topic,
      group: groupId,
      bufferedBytes,
      measures: measuredValues,
      partitions: partitionOutcomes,
    };
  });
  return { labels, registration, containers };
}

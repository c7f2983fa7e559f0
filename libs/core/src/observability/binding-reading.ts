import { containersOf, type ContainerRegistration } from '../containers/container-registration.js';
import type { ContainerStatus } from '../containers/health/container-status.js';
import type { MessageContainer } from '../containers/message-container.js';
import type { MetricSample } from './metric-family.js';

type Labels = MetricSample['labels'];

/** Values of a container, read once, so that all its samples are of the same moment. */
export interface ContainerReading {
  /** Labels `binding`, `cluster`, `topic` and `tier`. */
  readonly labels: Labels;
  readonly counts: MessageContainer['counts'];
  readonly status: ContainerStatus;
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
  const containers = containersOf(registration).map(({ topic, tier, counts, status }) => ({
    labels: { ...labels, topic, tier: String(tier) },
    counts,
    status,
  }));
  return { labels, registration, containers };
}

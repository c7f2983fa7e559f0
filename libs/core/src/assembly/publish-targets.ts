import type { ProducerSession } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import type { ResolvedOptions } from '../config/resolving/resolved-options.js';
import type { ContainerRegistry } from '../containers/container-registry.js';
import type { EventBusTracer } from '../model/extension-points/event-bus-tracer.js';
import { bindingNameOf, type BindingRef } from '../model/states/binding-ref.js';
import type { PayloadFormats } from '../pipeline/decoding/payload-formats.js';
import type { PublishMeters } from '../publisher/publish-meters.js';
import type { PublishTarget } from '../publisher/event-publisher.js';
import type { TopicChecks } from '../topics/topic-checks.js';
import type { BusSettings } from './bus-settings.js';

type Watching = Pick<PublishTarget, 'meter' | 'tracer'>;

/** Resolves a binding to its publish target: topic, serializer, and the producer of its cluster. */
export function publishTargets(
  settings: BusSettings,
  registry: ContainerRegistry,
  formats: PayloadFormats,
  topics: Pick<TopicChecks, 'whenCreated'>,
  meters: PublishMeters,
  tracerOf: () => EventBusTracer | undefined,
): (ref: BindingRef) => PublishTarget {
  const watch = ({ name, topic, cluster }: ResolvedBinding): Watching => ({
    ...(settings.options?.metrics.enabled && {
      meter: meters.of({ binding: name, cluster, topic }),
    }),
    tracer: tracerOf(),
  });
  return (ref) => {
    const { clusters, options } = settings.require(`publish to binding '${bindingNameOf(ref)}'`);
    const binding = bindingOf(ref, registry, options);
    const { name, topic, typeFrom, cluster } = binding;
    const { serializer } = formats.of(binding);
    const producer = (): ProducerSession => clusters.producer(cluster);
    const target = { binding: name, topic, typeFrom, serializer, producer, ...watch(binding) };
    if (binding.provisioning !== 'create') return target;
    return { ...target, created: () => topics.whenCreated(binding) };
  };
}

/**
 * Returns a binding that is consumed or configured. The drain unregisters bindings, while the last
 * requests may still publish events.
 */
export function bindingOf(
  ref: BindingRef,
  registry: ContainerRegistry,
  options: Pick<ResolvedOptions, 'bindings'> | undefined,
): ResolvedBinding {
  const configured = options?.bindings.find(({ name, cluster }) =>
    typeof ref === 'string' ? name === ref : name === ref.name && cluster === ref.cluster,
  );
  return registry.get(ref)?.config ?? configured ?? registry.require(ref).config;
}

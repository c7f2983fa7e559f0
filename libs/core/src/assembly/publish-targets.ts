import type { ProducerSession } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import type { ContainerRegistry } from '../containers/container-registry.js';
import { bindingNameOf, type BindingRef } from '../model/states/binding-ref.js';
import type { PayloadFormats } from '../pipeline/decoding/payload-formats.js';
import type { PublishTarget } from '../publisher/event-publisher.js';
import type { BusSettings } from './bus-settings.js';

/** Resolves a binding to its publish target: topic, serializer, and the producer of its cluster. */
export function publishTargets(
  settings: BusSettings,
  registry: ContainerRegistry,
  formats: PayloadFormats,
): (ref: BindingRef) => PublishTarget {
  return (ref) => {
    const { clusters, options } = settings.require(`publish to binding '${bindingNameOf(ref)}'`);
    // The drain unregisters bindings while the last requests may still publish.
    const binding =
      registry.get(ref)?.config ??
      findConfigured(options.bindings, ref) ??
      registry.require(ref).config;
    const { name, topic, typeFrom, cluster } = binding;
    const { serializer } = formats.of(binding);
    const producer = (): ProducerSession => clusters.producer(cluster);
    return { binding: name, topic, typeFrom, serializer, producer };
  };
}

function findConfigured(
  bindings: readonly ResolvedBinding[],
  ref: BindingRef,
): ResolvedBinding | undefined {
  return bindings.find(({ name, cluster }) =>
    typeof ref === 'string' ? name === ref : name === ref.name && cluster === ref.cluster,
  );
}

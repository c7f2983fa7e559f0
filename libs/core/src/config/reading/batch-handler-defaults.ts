import { isPlainObject } from './plain-object.js';
import type { BindingLayer } from '../resolving/resolve-binding.js';
import { below, Violations } from '../validation/violations.js';

const BATCH = Object.freeze({ listenerType: 'BATCH' });

/** Defaults that a batch handler implies for its binding. Every explicit option overrides them. */
export const batchHandlerDefaults = (source: string): BindingLayer => ({
  source,
  properties: BATCH,
});

/** Refuses listenerType 'SINGLE' for a batch handler, which can only be called with whole slices. */
export function rejectSingleListener(
  name: string,
  layers: readonly BindingLayer[],
  violations: Violations,
): void {
  const batchLayer = layers.find(({ properties }) => properties === BATCH);
  const explicitLayer = layers.find((layer) => listenerTypeOf(layer) !== undefined);
  if (!batchLayer || !explicitLayer || listenerTypeOf(explicitLayer) !== 'SINGLE') return;
  const ownViolations = new Violations(name);
  const path = below(explicitLayer.path ?? below('bindings', name), 'listenerType');
  const message = `must be 'BATCH', since ${batchLayer.source} takes whole slices; got 'SINGLE'. Leave it out, or use @EventHandler for single records.`;
  ownViolations.add('LISTENER_TYPE', path, 'SINGLE', message);
  violations.include(ownViolations.all);
}

/** Reads the value before it is validated, so it may be of any type. */
const listenerTypeOf = ({ properties }: BindingLayer): unknown =>
  isPlainObject(properties) ? properties['listenerType'] : undefined;

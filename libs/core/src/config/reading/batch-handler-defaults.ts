import { isPlainObject } from './plain-object.js';
import type { BindingLayer } from '../resolving/resolve-binding.js';
import { below, Violations } from '../validation/violations.js';

const BATCH = Object.freeze({ listenerType: 'BATCH' });

/** What a handler of whole slices says of its binding without a word: below all that anybody writes of it. */
export const batchHandlerDefaults = (source: string): BindingLayer => ({
  source,
  properties: BATCH,
});

/** Records one by one and whole slices cannot both be meant, and no other call of the handler would be right. */
export function rejectSingleListener(
  name: string,
  layers: readonly BindingLayer[],
  violations: Violations,
): void {
  const slices = layers.find(({ properties }) => properties === BATCH);
  const said = layers.find((layer) => listenerTypeOf(layer) !== undefined);
  if (!slices || !said || listenerTypeOf(said) !== 'SINGLE') return;
  const found = new Violations(name);
  const path = below(said.path ?? below('bindings', name), 'listenerType');
  const message = `must be 'BATCH', since ${slices.source} takes whole slices; got 'SINGLE'. Leave it out, or use @EventHandler for single records.`;
  found.add('LISTENER_TYPE', path, 'SINGLE', message);
  violations.include(found.all);
}

/** As it was written: it may be anything. */
const listenerTypeOf = ({ properties }: BindingLayer): unknown =>
  isPlainObject(properties) ? properties['listenerType'] : undefined;

import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { shownValue } from '../../errors/texts/shown-value.js';
import { valueSource } from '../decoding/event-type-source.js';
import type { PreparationStep } from '../pipeline-step.js';
import { invalidPayload } from './invalid-payload.js';

/**
 * Returns a step that refuses records of a version that the binding does not support; undefined if
 * it supports every version.
 */
export function checkSchemaVersion({
  schemaVersion: { from, supported },
}: Pick<ResolvedBinding, 'schemaVersion'>): PreparationStep | undefined {
  if (supported.length === 0) return undefined;
  const versionOf = valueSource(from);
  return ({ received: record, value, handler }) => {
    if (record.value === null) return undefined;
    const found = versionOf(record, value);
    const version = typeof found === 'number' ? String(found) : found;
    if (typeof version === 'string' && supported.includes(version)) return undefined;
    throw invalidPayload(handler.origin, [
      `${from}: ${describeVersion(version, from)} instead of ${supported.join(' or ')}`,
    ]);
  };
}

function describeVersion(version: unknown, from: string): string {
  if (typeof version !== 'string') return 'no version';
  const shown = shownValue(version, from);
  return shown === undefined ? 'another version' : `version '${shown}'`;
}

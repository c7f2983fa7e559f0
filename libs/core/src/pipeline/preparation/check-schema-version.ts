import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { valueSource } from '../decoding/event-type-source.js';
import type { PreparationStep } from '../pipeline-step.js';
import { invalidPayload } from './invalid-payload.js';

const MAX_VERSION_LENGTH = 100;

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
    const shown =
      typeof version === 'string'
        ? `version '${version.slice(0, MAX_VERSION_LENGTH)}'`
        : 'no version';
    throw invalidPayload(handler.origin, [
      `${from}: ${shown} instead of ${supported.join(' or ')}`,
    ]);
  };
}

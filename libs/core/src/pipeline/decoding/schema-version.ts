import type { BrokerRecord } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { valueSource } from './event-type-source.js';
import { invalidPayload } from '../dispatch/invalid-payload.js';

/** Throws a PayloadValidationException for a record of a version that `handler` does not know. */
export type SchemaVersionCheck = (record: BrokerRecord, value: unknown, handler: string) => void;

const MAX_VERSION_LENGTH = 100;

/** undefined where any version will do. */
export function schemaVersionCheck({
  schemaVersion: { from, supported },
}: Pick<ResolvedBinding, 'schemaVersion'>): SchemaVersionCheck | undefined {
  if (supported.length === 0) return undefined;
  const versionOf = valueSource(from);
  return (record, value, handler) => {
    const found = versionOf(record, value);
    const version = typeof found === 'number' ? String(found) : found;
    if (typeof version === 'string' && supported.includes(version)) return;
    const shown =
      typeof version === 'string'
        ? `version '${version.slice(0, MAX_VERSION_LENGTH)}'`
        : 'no version';
    throw invalidPayload(handler, [`${from}: ${shown} instead of ${supported.join(' or ')}`]);
  };
}

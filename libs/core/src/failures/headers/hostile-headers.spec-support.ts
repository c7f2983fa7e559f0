import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import type { RecordHeader } from '@nest-event-bus/broker';
import { ARCHIVE_PREFIX } from '../../model/records/archived-headers.js';
import { EVENTBUS_HEADERS, tierHeaders } from '../../model/records/event-bus-headers.js';
import { PLAIN_HEADERS } from './plain-profile.js';
import { SPRING_HEADERS } from './spring-profile.js';

const OWN_NAMES = [
  ...Object.values(EVENTBUS_HEADERS),
  ...Object.values(tierHeaders(1)),
  ...Object.values(SPRING_HEADERS),
  ...Object.values(PLAIN_HEADERS),
];

const ownName = fc.constantFrom(...OWN_NAMES);
const archivedName = fc
  .tuple(fc.integer({ min: 1, max: 3 }), ownName)
  .map(([times, name]) => ARCHIVE_PREFIX.repeat(times) + name);
const otherName = fc.constantFrom(
  'trace',
  '',
  '__proto__',
  'constructor',
  'kafka_dlt-of-another-version',
  'x-eventbus-of-a-newer-version',
  ARCHIVE_PREFIX,
  'ключ 🚆',
);

const binaryName = fc
  .tuple(
    fc.constantFrom('', 'kafka_dlt-', ARCHIVE_PREFIX),
    fc.uint8Array({ minLength: 1, maxLength: 8 }).filter((bytes) => !isUtf8(bytes)),
  )
  .map(([prefix, bytes]) => Buffer.concat([Buffer.from(prefix), bytes]));

const value = fc.oneof(
  fc.constant(null),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom('', '0', '-1', '3', '99999999999999999999', 'orders', 'eventbus,spring,plain')
    .map((text) => Buffer.from(text)),
);

const namedHeader = fc.record({
  key: fc.oneof(ownName, archivedName, otherName),
  value,
});
const binaryHeader = fc
  .record({ keyBytes: binaryName, value })
  .map((header): RecordHeader => ({ key: header.keyBytes.toString('utf8'), ...header }));

/**
 * Headers that a producer may have written: names of every profile and of the archive, several
 * times, with any value, and names that are not UTF-8.
 */
export const hostileHeaders: fc.Arbitrary<readonly RecordHeader[]> = fc.array(
  fc.oneof({ weight: 4, arbitrary: namedHeader }, { weight: 1, arbitrary: binaryHeader }),
  { maxLength: 14 },
);

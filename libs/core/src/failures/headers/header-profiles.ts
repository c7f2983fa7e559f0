import type { RecordHeader } from '@nest-event-bus/broker';
import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import { eventbusProfile, isEventBusHeader } from './x-eventbus-headers.js';
import type { HeaderProfile } from './header-profile.js';
import { PLAIN_HEADERS, plainProfile } from './plain-profile.js';
import { springProfile } from './spring-profile.js';

export const HEADER_PROFILES: Readonly<Record<HeaderProfileName, HeaderProfile>> = Object.freeze({
  eventbus: eventbusProfile,
  spring: springProfile,
  plain: plainProfile,
});

/**
 * Returns the headers that a record had before its first failure, byte for byte and in their order.
 */
export function originalHeaders(
  headers: readonly RecordHeader[],
  profiles: readonly HeaderProfile[],
): readonly RecordHeader[] {
  return headers.filter(
    ({ key }) => !isEventBusHeader(key) && !profiles.some((profile) => profile.owns(key)),
  );
}

/**
 * Returns the profiles that an earlier write may have used. Producers use the plain names as well,
 * so these count only if all of them are present, as the plain profile writes them.
 */
export function writtenProfiles(
  headers: readonly RecordHeader[],
  profiles: readonly HeaderProfile[],
): readonly HeaderProfile[] {
  const present = new Set(headers.map(({ key }) => key));
  const isPlain = Object.values(PLAIN_HEADERS).every((name) => present.has(name));
  return isPlain ? profiles : profiles.filter((profile) => profile !== plainProfile);
}

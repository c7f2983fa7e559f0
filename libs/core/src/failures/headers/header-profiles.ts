import type { RecordHeader } from '@nest-event-bus/broker';
import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import { isEventBusHeader } from './control-headers.js';
import { eventbusProfile } from './eventbus-profile.js';
import type { HeaderProfile } from './header-profile.js';
import { PLAIN_HEADERS, plainProfile } from './plain-profile.js';
import { springProfile } from './spring-profile.js';

export const HEADER_PROFILES: Readonly<Record<HeaderProfileName, HeaderProfile>> = Object.freeze({
  eventbus: eventbusProfile,
  spring: springProfile,
  plain: plainProfile,
});

/** The headers that a record came with, byte for byte and in their order, without those of earlier hops. */
export function originalHeaders(
  headers: readonly RecordHeader[],
  profiles: readonly HeaderProfile[],
): readonly RecordHeader[] {
  return headers.filter(
    ({ key }) => !isEventBusHeader(key) && !profiles.some((profile) => profile.owns(key)),
  );
}

/**
 * Profiles that an earlier hop may have written. Producers use the plain names as well: they count
 * only if all of them are present, as the plain profile writes them.
 */
export function writtenProfiles(
  headers: readonly RecordHeader[],
  profiles: readonly HeaderProfile[],
): readonly HeaderProfile[] {
  const present = new Set(headers.map(({ key }) => key));
  const isPlain = Object.values(PLAIN_HEADERS).every((name) => present.has(name));
  return isPlain ? profiles : profiles.filter((profile) => profile !== plainProfile);
}

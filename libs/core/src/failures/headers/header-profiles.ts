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

/** What a record came with, byte for byte and in its order, without what earlier hops have written. */
export function originalHeaders(
  headers: readonly RecordHeader[],
  profiles: readonly HeaderProfile[],
): readonly RecordHeader[] {
  return headers.filter(
    ({ key }) => !isEventBusHeader(key) && !profiles.some((profile) => profile.owns(key)),
  );
}

/**
 * In which of the profiles an earlier hop may have told its story. The plain names are anybody's:
 * they are ours only where all of them are there, as that profile writes them.
 */
export function writtenProfiles(
  headers: readonly RecordHeader[],
  profiles: readonly HeaderProfile[],
): readonly HeaderProfile[] {
  const present = new Set(headers.map(({ key }) => key));
  const isPlain = Object.values(PLAIN_HEADERS).every((name) => present.has(name));
  return isPlain ? profiles : profiles.filter((profile) => profile !== plainProfile);
}

import type { ResolvedBinding } from './resolved-binding.js';

type Member = Pick<ResolvedBinding, 'name' | 'staticMembership' | 'groupInstanceId'>;

/** Longest id that Kafka's own clients allow. */
const MAX_LENGTH = 249;

/**
 * Returns the group.instance.id of a session; undefined without static membership. Tiers have their
 * own groups, so they use the same id.
 */
export function staticMemberId(
  { name, staticMembership, groupInstanceId }: Member,
  hostname: string,
  index: number,
): string | undefined {
  if (!staticMembership) return undefined;
  const idOn = (host: string): string => {
    const parts: Readonly<Record<string, string>> = {
      binding: name,
      hostname: host,
      index: String(index),
    };
    return groupInstanceId
      .replaceAll(/\{(\w+)\}/g, (_, key: string) => parts[key] ?? '')
      .replaceAll(/[^A-Za-z0-9._-]/g, '-');
  };
  // If the id is too long, its host name is cut. The index must stay complete, because it
  // distinguishes the sessions.
  const hosts = groupInstanceId.split('{hostname}').length - 1;
  const hostLength = Math.floor((MAX_LENGTH - idOn('').length) / Math.max(hosts, 1));
  return idOn(hostLength > 0 ? hostname.slice(-hostLength) : '').slice(-MAX_LENGTH);
}

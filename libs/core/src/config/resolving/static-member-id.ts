import type { ResolvedBinding } from './resolved-binding.js';

type Member = Pick<ResolvedBinding, 'name' | 'staticMembership' | 'groupInstanceId'>;

/** As Kafka's own clients allow them. */
const LONGEST = 249;

/** The name of a session that outlives it; undefined for a member without one. Tiers are groups of their own, so one name does for all. */
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
  // What is too long is cut where that does least harm: the index is what tells sessions apart.
  const hosts = groupInstanceId.split('{hostname}').length - 1;
  const room = Math.floor((LONGEST - idOn('').length) / Math.max(hosts, 1));
  return idOn(room > 0 ? hostname.slice(-room) : '').slice(-LONGEST);
}

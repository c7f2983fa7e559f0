import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';

export { staticMemberId } from '../../config/resolving/static-member-id.js';

type Member = Pick<ResolvedBinding, 'name' | 'staticMembership' | 'groupInstanceId'>;

/** Random name endings of the pods of a Kubernetes Deployment, and of Docker containers. */
const EPHEMERAL_HOSTNAMES = [
  /-[a-z0-9]{6,10}-[a-z0-9]{5}$/,
  // Pods of a DaemonSet or a Job. Only endings with a digit before a letter count, since `shop-
  // srv24` is an ordinary host.
  /-(?=.*[0-9].*[a-z])[bcdfghjklmnpqrstvwxz2456789]{5}$/,
  /^[0-9a-f]{12}$/,
] as const;

/**
 * Returns a warning if the member id changes with every rollout. The binding works all the same.
 */
export function staticMemberWarning(member: Member, hostname: string): string | undefined {
  const { name, staticMembership, groupInstanceId } = member;
  if (!staticMembership || !groupInstanceId.includes('{hostname}')) return undefined;
  if (!EPHEMERAL_HOSTNAMES.some((pattern) => pattern.test(hostname))) return undefined;
  return `Binding '${name}' has static members that are named by the host '${hostname}', which looks as if it got another name at every rollout: the group would wait for members that never come back, each for its session time-out. Run it as a StatefulSet, or set groupInstanceId to something that stays.`;
}

import type { ClassicMember, JoinRequest } from './classic-member.js';

/**
 * Returns whether the new member offers at least one protocol that every present member offers too.
 */
export function isCompatible(
  request: JoinRequest,
  protocolType: string,
  members: readonly ClassicMember[],
): boolean {
  const offered = request.protocols.map(({ name }) => name);
  if (offered.length === 0 || request.protocolType === '') return false;
  const others = members.filter(({ id }) => id !== request.memberId);
  if (others.length === 0) return true;
  return (
    protocolType === request.protocolType &&
    offered.some((name) => others.every(({ protocolNames }) => protocolNames.includes(name)))
  );
}

/** Returns the protocol that most members prefer, among those that all members support. */
export function chooseProtocol(members: readonly ClassicMember[]): string {
  const [first] = members;
  const common = (first?.protocolNames ?? []).filter((name) =>
    members.every(({ protocolNames }) => protocolNames.includes(name)),
  );
  const votes = new Map<string, number>(common.map((name) => [name, 0]));
  for (const { protocolNames } of members) {
    const choice = protocolNames.find((name) => votes.has(name));
    if (choice !== undefined) votes.set(choice, (votes.get(choice) ?? 0) + 1);
  }
  return [...votes].reduce((best, vote) => (vote[1] > best[1] ? vote : best), ['', -1])[0];
}

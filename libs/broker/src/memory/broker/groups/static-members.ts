import { Refusal } from '../faults/refusal.js';

/**
 * The member id of each group instance id (KIP-345). A previous member with the same instance id is
 * fenced.
 */
export class StaticMembers {
  readonly #memberIds = new Map<string, string>();

  constructor(private readonly groupId: string) {}

  memberIdOf(instanceId: string | null): string | undefined {
    return instanceId === null ? undefined : this.#memberIds.get(instanceId);
  }

  register(instanceId: string | null, memberId: string): void {
    if (instanceId !== null) this.#memberIds.set(instanceId, memberId);
  }

  /** Releases the instance id, unless another member has taken it. */
  unregister(instanceId: string | null, memberId: string): void {
    if (instanceId !== null && this.memberIdOf(instanceId) === memberId)
      this.#memberIds.delete(instanceId);
  }

  check(instanceId: string | null, memberId: string): void {
    if (instanceId === null) return;
    const holder = this.#memberIds.get(instanceId);
    if (holder === undefined)
      throw new Refusal(
        'UNKNOWN_MEMBER_ID',
        `group "${this.groupId}" has no member with the instance id "${instanceId}"`,
      );
    if (holder !== memberId) throw instanceFenced(instanceId);
  }
}

export function instanceFenced(instanceId: string): Refusal {
  return new Refusal(
    'FENCED_INSTANCE_ID',
    `another session has joined with the group instance id "${instanceId}"`,
  );
}

import { Refusal } from './refusal.js';

/** Which member has which group instance id (KIP-345). Whoever had it before is fenced. */
export class StaticMembers {
  readonly #holders = new Map<string, string>();

  constructor(private readonly groupId: string) {}

  holderOf(instanceId: string | null): string | undefined {
    return instanceId === null ? undefined : this.#holders.get(instanceId);
  }

  take(instanceId: string | null, memberId: string): void {
    if (instanceId !== null) this.#holders.set(instanceId, memberId);
  }

  /** Its id is free again, unless another member has taken it. */
  forget(instanceId: string | null, memberId: string): void {
    if (instanceId !== null && this.holderOf(instanceId) === memberId)
      this.#holders.delete(instanceId);
  }

  check(instanceId: string | null, memberId: string): void {
    if (instanceId === null) return;
    const holder = this.#holders.get(instanceId);
    if (holder === undefined)
      throw new Refusal(
        'UNKNOWN_MEMBER_ID',
        `group "${this.groupId}" has no member with the instance id "${instanceId}"`,
      );
    if (holder !== memberId) throw fenced(instanceId);
  }
}

export function fenced(instanceId: string): Refusal {
  return new Refusal(
    'FENCED_INSTANCE_ID',
    `another session has joined with the group instance id "${instanceId}"`,
  );
}

import type { TopicPartition } from '../../port/record.js';

/**
 * The claims of one partition. `owner` is null while two members claim it in one generation: one of
 * them is wrong, and it is unknown which.
 */
interface Claim {
  readonly generation: number;
  readonly owner: string | null;
  readonly claimants: readonly string[];
}

/**
 * The previous owner of each partition, according to the claims of all members. The claim of the
 * highest generation wins.
 */
export class PreviousOwners {
  readonly #claims = new Map<string, Map<number, Claim>>();

  claim(memberId: string, generation: number, { topic, partition }: TopicPartition): void {
    const ofTopic = this.#claimsOf(topic);
    const known = ofTopic.get(partition);
    const claimants = [...(known?.claimants ?? []), memberId];
    if (known === undefined || generation > known.generation)
      ofTopic.set(partition, { generation, owner: memberId, claimants });
    else if (generation === known.generation && known.owner !== memberId)
      ofTopic.set(partition, { generation, owner: null, claimants });
    else ofTopic.set(partition, { ...known, claimants });
  }

  ownerOf(topic: string, partition: number): string | null {
    return this.#claims.get(topic)?.get(partition)?.owner ?? null;
  }

  /** Returns all members that claim the partition, in any generation. */
  claimantsOf(topic: string, partition: number): readonly string[] {
    return this.#claims.get(topic)?.get(partition)?.claimants ?? [];
  }

  #claimsOf(topic: string): Map<number, Claim> {
    let claims = this.#claims.get(topic);
    if (claims === undefined) this.#claims.set(topic, (claims = new Map()));
    return claims;
  }
}

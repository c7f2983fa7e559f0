import type { TopicPartition } from '../../port/record.js';

/** `owner` is null while two members claim the partition in one generation: one of them is wrong, and nobody can tell which. */
interface Claim {
  readonly generation: number;
  readonly owner: string | null;
  readonly claimants: readonly string[];
}

/** Whose partition it was, from what all members say of themselves. The claim of the highest generation holds. */
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

  /** Everybody who says that it is theirs, whatever the generation. */
  claimantsOf(topic: string, partition: number): readonly string[] {
    return this.#claims.get(topic)?.get(partition)?.claimants ?? [];
  }

  #claimsOf(topic: string): Map<number, Claim> {
    let claims = this.#claims.get(topic);
    if (claims === undefined) this.#claims.set(topic, (claims = new Map()));
    return claims;
  }
}

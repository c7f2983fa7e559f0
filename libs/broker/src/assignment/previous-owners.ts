import type { TopicPartition } from '../port/record.js';

/** `owner` is null while two members claim the partition in one generation: one of them is wrong, and nobody can tell which. */
interface Claim {
  readonly generation: number;
  readonly owner: string | null;
}

/** Whose partition it was, from what all members say of themselves. The claim of the highest generation holds. */
export class PreviousOwners {
  readonly #claims = new Map<string, Map<number, Claim>>();

  claim(memberId: string, generation: number, { topic, partition }: TopicPartition): void {
    const ofTopic = this.#claimsOf(topic);
    const known = ofTopic.get(partition);
    if (known === undefined || generation > known.generation)
      ofTopic.set(partition, { generation, owner: memberId });
    else if (generation === known.generation && known.owner !== memberId)
      ofTopic.set(partition, { generation, owner: null });
  }

  ownerOf(topic: string, partition: number): string | null {
    return this.#claims.get(topic)?.get(partition)?.owner ?? null;
  }

  #claimsOf(topic: string): Map<number, Claim> {
    let claims = this.#claims.get(topic);
    if (claims === undefined) this.#claims.set(topic, (claims = new Map()));
    return claims;
  }
}

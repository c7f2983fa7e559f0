import type { AssignorName } from '../../port/consumer.js';
import type { PreviousAssignment } from '../assignor.js';
import { assignorsInOrder } from '../assignors.js';
import { encodeSubscription, NO_GENERATION } from './consumer-protocol.js';

export interface JoiningMember {
  readonly assignors: readonly AssignorName[];
  readonly topics: readonly string[];
  /**
   * The last assignment, even if its partitions were revoked since; null before the first
   * assignment.
   */
  readonly previous: PreviousAssignment | null;
  /**
   * Partitions that the member keeps reading while it joins, with the generation of their last
   * SyncGroup; null if the member has revoked all partitions.
   */
  readonly held: PreviousAssignment | null;
}

/**
 * Returns the protocols of a member for JoinGroup, in order of preference. Only cooperative
 * assignors get the held partitions.
 */
export function memberProtocols({
  assignors,
  topics,
  previous,
  held,
}: JoiningMember): { readonly name: AssignorName; readonly metadata: Buffer }[] {
  return assignorsInOrder(assignors).map((assignor) => {
    const claim = assignor.cooperative ? held : null;
    const metadata = encodeSubscription({
      topics,
      userData: assignor.userData(assignor.cooperative ? held : previous),
      owned: claim?.partitions ?? [],
      generation: claim?.generation ?? NO_GENERATION,
      rack: null,
    });
    return { name: assignor.name, metadata };
  });
}

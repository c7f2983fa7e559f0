import type { AssignorName } from '../../port/consumer.js';
import type { PreviousAssignment } from '../assignor.js';
import { assignorsInOrder } from '../assignors.js';
import { encodeSubscription, NO_GENERATION } from './consumer-protocol.js';

export interface JoiningMember {
  readonly assignors: readonly AssignorName[];
  readonly topics: readonly string[];
  /**
   * The last assignment, whether or not its partitions are still read; null before the first one.
   */
  readonly previous: PreviousAssignment | null;
  /**
   * Partitions that are still read while joining, with the generation that confirmed them; null if
   * all were handed back.
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

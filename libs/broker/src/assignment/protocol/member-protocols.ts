import type { AssignorName } from '../../port/consumer.js';
import type { PreviousAssignment } from '../assignor.js';
import { assignorsInOrder } from '../assignors.js';
import { encodeSubscription, NO_GENERATION } from './consumer-protocol.js';

export interface JoiningMember {
  readonly assignors: readonly AssignorName[];
  readonly topics: readonly string[];
  /** The last assignment, whether or not it is still worked on; null before the first one. */
  readonly previous: PreviousAssignment | null;
  /** What is still worked on while joining, and the generation in which it was confirmed; null when all was handed back. */
  readonly held: PreviousAssignment | null;
}

/** What a member offers in JoinGroup, in the order of preference. Only cooperative assignors hear of what is held. */
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

import { DeadLetterNotFoundException } from '../errors/admin-errors.js';
import { bindingNameOf, type BindingRef } from '../model/states/binding-ref.js';
import type { DltReplayService } from '../redrive/dlt-replay-service.js';
import type { ListedDeadLetter } from '../redrive/letters/list-letters.js';
import type { DeadLetterPosition } from '../redrive/letters/read-letters.js';

/** Reads one dead letter. Throws if the binding has none at the position. */
export async function findLetter(
  replay: Pick<DltReplayService, 'list'>,
  ref: BindingRef,
  { partition, offset }: DeadLetterPosition,
): Promise<ListedDeadLetter> {
  const after = { partition, offset: offset - 1 };
  const { letters } = await replay.list(ref, { after, limit: 1 });
  const [found] = letters;
  if (found?.position.partition === partition && found.position.offset === offset) return found;
  throw new DeadLetterNotFoundException(bindingNameOf(ref), partition, String(offset));
}

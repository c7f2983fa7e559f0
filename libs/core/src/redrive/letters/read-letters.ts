import type { BrokerRecord } from '@nest-event-bus/broker';
import { readDeadLetter } from '../../failures/headers/read-dead-letter.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import { printedKey } from '../../model/records/record-key.js';
import { causeGroupOf } from './cause-group.js';

/** A dead letter's place in the dead-letter topic. */
export interface DeadLetterPosition {
  readonly partition: number;
  readonly offset: number;
}

/** A record of a dead-letter topic. What its headers say is read when it is first needed. */
export class ReadLetter {
  #dlt: DltRecord | undefined;
  #group: string | undefined;

  constructor(readonly record: BrokerRecord) {}

  get offset(): number {
    return this.record.offset;
  }

  get dlt(): DltRecord {
    return (this.#dlt ??= readDeadLetter(this.record));
  }

  /** The id of the group of letters with the same cause. */
  get group(): string {
    return (this.#group ??= causeGroupOf(this.dlt));
  }

  get keyText(): string | null {
    return printedKey(this.record.key);
  }
}

/** The binding whose letters are wanted. */
export interface LetterOwner {
  readonly name: string;
  readonly groupId: string;
  readonly topic: string;
  readonly dlt: { readonly topic: string };
}

/**
 * Returns whether the binding may decide about the letter. Groups that read one topic share its
 * dead-letter topic, and bindings may share one by name. A letter without a group belongs to the
 * binding of its original topic, or to every binding if that topic is unknown.
 */
export function belongsTo({ dlt }: ReadLetter, owner: LetterOwner): boolean {
  if (dlt.groupId !== undefined && dlt.groupId !== owner.groupId) return false;
  if (dlt.originalTopic === owner.topic) return true;
  // The position of the dead letter itself stands for an unknown one.
  return dlt.originalTopic === owner.dlt.topic;
}

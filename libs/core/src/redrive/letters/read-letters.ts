import type { BrokerRecord } from '@nest-event-bus/broker';
import { LetterFacts } from '../../failures/headers/letter-facts.js';
import { printedKey } from '../../model/records/record-key.js';
import { causeGroupOf } from './cause-group.js';

/** A dead letter's place in the dead-letter topic. */
export interface DeadLetterPosition {
  readonly partition: number;
  readonly offset: number;
}

/** A record of a dead-letter topic. Each fact of its headers is read when it is needed. */
export class ReadLetter {
  readonly facts: LetterFacts;
  #group: string | undefined;

  constructor(readonly record: BrokerRecord) {
    this.facts = new LetterFacts(record);
  }

  get offset(): number {
    return this.record.offset;
  }

  /** The id of the group of letters with the same cause. */
  get group(): string {
    return (this.#group ??= causeGroupOf(this.facts));
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
export function belongsTo({ facts }: ReadLetter, owner: LetterOwner): boolean {
  const { groupId } = facts;
  if (groupId !== undefined && groupId !== owner.groupId) return false;
  if (facts.originalTopic === owner.topic) return true;
  // The position of the dead letter itself stands for an unknown one.
  return facts.originalTopic === owner.dlt.topic;
}

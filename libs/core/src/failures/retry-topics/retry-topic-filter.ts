import type { BrokerRecord } from '@nest-event-bus/broker';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerText } from '../../model/records/header-text.js';
import { DueTimes, type DueTimesParts } from './due-times.js';

export interface RetryTopicFilterParts extends DueTimesParts {
  /** The group of the binding. The tier has another one. */
  readonly groupId: string;
}

/** Decides which records of a retry topic belong to this binding. A foreign record has no delay. */
export class RetryTopicFilter {
  readonly #groupId: string;
  readonly #dueTimes: DueTimes;

  constructor({ groupId, ...parts }: RetryTopicFilterParts) {
    this.#groupId = groupId;
    this.#dueTimes = new DueTimes(parts);
  }

  /**
   * Returns whether another group failed the record. Groups that read one topic share its retry
   * topics, and each handles only the records that it failed itself.
   */
  isForeign({ headers }: BrokerRecord): boolean {
    const groupId = headerText(headers, EVENTBUS_HEADERS.groupId);
    return groupId !== undefined && groupId !== this.#groupId;
  }

  dueAt(record: BrokerRecord, readAt: number): number {
    return this.isForeign(record) ? 0 : this.#dueTimes.dueAt(record, readAt);
  }
}

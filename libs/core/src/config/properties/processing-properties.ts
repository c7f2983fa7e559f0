import { IsFlag, IsOneOf, IsTextLike, IsWholeNumber } from './property-decorators.js';

/** Selects which records of a partition wait for each other. */
export class ProcessingProperties {
  /**
   * Selects which records of a partition wait for each other. `'partition'` handles one record
   * after the other, `'key'` keeps the order of each key, `'none'` keeps no order.
   *
   * @defaultValue `'partition'`
   */
  @IsOneOf(['partition', 'key', 'none'])
  by?: 'partition' | 'key' | 'none';

  /**
   * Limits how many handlers run at the same time in one session, with `by: 'key'` or `'none'`. A
   * handler that exceeds `maxPollIntervalMs` no longer counts.
   *
   * @defaultValue `64`
   */
  @IsWholeNumber({ max: 10_000 })
  maxConcurrency?: number;
}

/** Configures the offset commits of a binding. */
export class CommitProperties {
  /**
   * Delivers the next record only after the finished records are committed. With `processing.by:
   * 'key'` only records of the same key wait. It is refused with `'none'`. Transactions commit like
   * that anyway.
   *
   * @defaultValue `false`
   */
  @IsFlag()
  strict?: boolean;
}

/**
 * Configures transactions: what a handler sends with `ctx.transaction` is committed together with
 * the offset of its record.
 */
export class TransactionProperties {
  /**
   * Commits what handlers send with `ctx.transaction` together with the offset of their record.
   *
   * @defaultValue `false`
   */
  @IsFlag()
  enabled?: boolean;

  /**
   * Sets the beginning of the transactional ids, to which group, binding, host and session index
   * are added. Two processes on one host need two different prefixes, which must not change when a
   * process restarts.
   *
   * @defaultValue `'eventbus-'`
   */
  @IsTextLike(
    /^[A-Za-z0-9._-]{1,100}$/,
    "1 to 100 of the characters a-z, A-Z, 0-9, '.', '_' and '-'",
  )
  idPrefix?: string;
}

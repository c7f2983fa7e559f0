import { IsFlag, IsOneOf, IsTextLike, IsWholeNumber } from './property-decorators.js';

/** Which records of a partition wait for each other. */
export class ProcessingProperties {
  /** `'key'` keeps the order of each key, `'none'` keeps no order. */
  @IsOneOf(['partition', 'key', 'none'])
  by?: 'partition' | 'key' | 'none';

  /** Handlers at work at once in each session, where records do not wait for their partition. */
  @IsWholeNumber({ max: 10_000 })
  maxConcurrency?: number;
}

export class CommitProperties {
  /** Nothing more is handed out until what is done is committed; by `'key'`, nothing more of its key. Not with `'none'`. */
  @IsFlag()
  strict?: boolean;
}

/** What a handler sends with `ctx.transaction` is committed with the progress of its record. */
export class TransactionProperties {
  @IsFlag()
  enabled?: boolean;

  /**
   * Transactional ids are this, then the group, the binding, the host and the index of the session.
   * Two processes of one host need one each, that stays over restarts.
   */
  @IsTextLike(
    /^[A-Za-z0-9._-]{1,100}$/,
    "1 to 100 of the characters a-z, A-Z, 0-9, '.', '_' and '-'",
  )
  idPrefix?: string;
}

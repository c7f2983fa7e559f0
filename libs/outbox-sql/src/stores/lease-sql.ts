import type { PayloadColumn, SqlDialect } from '../dialects/sql-dialect.js';

/**
 * An event whose count of unfinished attempts reaches this number may have killed its process. It
 * is leased alone.
 */
const SUSPECT_FROM = 1;

const INTEGER = { postgres: 'bigint', mysql: 'SIGNED', sqlite: 'INTEGER' } as const;

/** The parts of the statements that lease events, for one table. */
export class LeaseSql {
  constructor(
    private readonly dialect: SqlDialect,
    private readonly table: string,
    private readonly payload: PayloadColumn,
  ) {}

  /** True for rows whose time has come and that no valid lease holds. */
  get #free(): string {
    const { pending, now } = this.dialect;
    return `${pending} AND available_at <= ${now} AND (lease_until IS NULL OR lease_until <= ${now})`;
  }

  /** True for events that are leased together, in the range of `:after` and `:until`. */
  get plain(): string {
    return `sequence_no > ${this.#number(':after')} AND sequence_no <= ${this.#number(':until')} AND ${this.#free} AND unfinished_attempts < ${SUSPECT_FROM}`;
  }

  /** Selects the first pending event behind `:after`. */
  get firstPending(): string {
    return `SELECT MIN(sequence_no) AS first_no FROM ${this.table} WHERE ${this.dialect.pending} AND sequence_no > ${this.#number(':after')}`;
  }

  get suspect(): string {
    return `locked_by IS NOT NULL AND ${this.#free} AND unfinished_attempts >= ${SUSPECT_FROM}`;
  }

  #number(parameter: string): string {
    return `CAST(${parameter} AS ${INTEGER[this.dialect.name]})`;
  }

  /**
   * The first event of each key that keeps later ones back: another claim holds it, its time has
   * not come, or it is DEAD and blocks its key. With `suspects`, also events that are leased alone.
   */
  heldKeys({ suspects }: { readonly suspects: boolean }): string {
    const { now, pending } = this.dialect;
    const select = `SELECT key_hash, sequence_no FROM ${this.table} WHERE key_hash IS NOT NULL AND`;
    const leased = `lease_until > ${now}${suspects ? ` OR unfinished_attempts >= ${SUSPECT_FROM}` : ''}`;
    return `SELECT key_hash, MIN(sequence_no) AS first_no FROM (${[
      `${select} locked_by IS NOT NULL AND ${pending} AND (${leased})`,
      `${select} status IN (0, 2) AND available_at > ${now}`,
      `${select} blocks_key = 1`,
    ].join(' UNION ALL ')}) AS held_rows GROUP BY key_hash`;
  }

  /** What a lease sets. Events that are leased alone count their attempt when it starts. */
  assignments(alias: '' | 't.', isSuspect: boolean): string {
    const { now } = this.dialect;
    const count = isSuspect
      ? ''
      : `, ${alias}unfinished_attempts = ${alias}unfinished_attempts + 1`;
    return `${alias}locked_by = :token, ${alias}locked_at = ${now}, ${alias}lease_until = ${this.dialect.after(':leaseMs')}${count}`;
  }

  /** Selects the suspect to lease: the first that nothing keeps back. */
  firstSuspect(order: 'key' | 'none'): string {
    const held = `EXISTS (SELECT 1 FROM held WHERE held.key_hash = suspects.key_hash AND held.first_no < suspects.sequence_no)`;
    return order === 'none'
      ? `SELECT event_id FROM ${this.table} WHERE ${this.suspect} ORDER BY sequence_no LIMIT 1`
      : `WITH held AS (${this.heldKeys({ suspects: false })}) SELECT event_id FROM (SELECT event_id, key_hash, sequence_no FROM ${this.table} WHERE ${this.suspect}) AS suspects WHERE NOT ${held} ORDER BY sequence_no LIMIT 1`;
  }

  leaseSuspect(): string {
    return `UPDATE ${this.table} SET ${this.assignments('', true)} WHERE event_id = :eventId AND ${this.suspect}`;
  }

  /**
   * Reads what the token holds, in the order of the sequence, up to a number of bytes. It leaves
   * out events that would overtake another one of their key:
   *
   * 1. Claim A locks the events 1 to 10 of a key, and has not committed.
   * 2. Event 11 is inserted.
   * 3. Claim B cannot see A's lease. It skips the locked events and takes 11.
   * 4. B reads here. The events 1 to 10 are pending and not B's, so B does not return 11.
   */
  read(order: 'key' | 'none', columns: string): string {
    const bytes = this.dialect.payloadBytes(this.payload);
    const mine = `SELECT ${this.table}.*, SUM(${bytes}) OVER (ORDER BY sequence_no) - ${bytes} AS bytes_before FROM ${this.table} WHERE locked_by = :token AND ${this.dialect.pending}`;
    if (order === 'none')
      return `WITH mine AS (${mine}) SELECT ${columns} FROM mine WHERE bytes_before < :maxBytes ORDER BY sequence_no`;
    const earlier = `SELECT key_hash, sequence_no FROM ${this.table} WHERE ${this.dialect.pending} AND (locked_by IS NULL OR locked_by <> :token) AND sequence_no < (SELECT MAX(sequence_no) FROM mine) AND key_hash IN (SELECT key_hash FROM mine) UNION ALL SELECT key_hash, sequence_no FROM ${this.table} WHERE blocks_key = 1`;
    return `WITH mine AS (${mine}), passed AS (SELECT key_hash AS passed_key, MIN(sequence_no) AS first_no FROM (${earlier}) AS earlier GROUP BY key_hash) SELECT ${columns} FROM mine LEFT JOIN passed ON passed_key = key_hash WHERE bytes_before < :maxBytes AND (first_no IS NULL OR sequence_no < first_no) ORDER BY sequence_no`;
  }
}

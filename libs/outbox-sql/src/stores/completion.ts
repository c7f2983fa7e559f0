import type { EventOutcome, SqlConnection } from '@nest-event-bus/outbox';
import type { SqlValue } from '../connections/sql-session.js';
import type { SqlDialect } from '../dialects/sql-dialect.js';
import type { SqlParameters } from './sql-template.js';
import { CLEARED_LOCK, errorText } from './row-changes.js';

/** The most events of one statement: with the same values for all, and with values of their own. */
const MAX_SAME = 512;
const MAX_OWN = 128;

/** One statement that changes rows which a token holds. */
export interface HeldChange {
  readonly token: string;
  readonly eventIds: readonly string[];
  readonly assignments: string;
  readonly parameters: SqlParameters;
}

type OutcomeOf<Kind extends EventOutcome['kind']> = Extract<EventOutcome, { kind: Kind }>;

/** Turns the outcomes of a claim into a few statements, one per kind. */
export class Completion {
  constructor(
    private readonly dialect: SqlDialect,
    private readonly change: (
      connection: SqlConnection,
      change: HeldChange,
    ) => Promise<readonly string[]>,
  ) {}

  async complete(
    connection: SqlConnection,
    token: string,
    outcomes: readonly EventOutcome[],
  ): Promise<readonly string[]> {
    const changed: (readonly string[])[] = [];
    for (const part of this.#parts(outcomes))
      changed.push(await this.change(connection, { token, ...part }));
    return changed.flat();
  }

  /**
   * The retries come first. Until they are stored, the later events of their keys must stay leased,
   * or another claim would overtake.
   */
  #parts(outcomes: readonly EventOutcome[]): readonly Omit<HeldChange, 'token'>[] {
    return [
      ...chunks(ofKind(outcomes, 'retry'), MAX_OWN).map((part) => this.#retries(part)),
      ...chunks(ofKind(outcomes, 'dead'), MAX_OWN).map((part) => this.#dead(part)),
      ...chunks(ofKind(outcomes, 'released'), MAX_OWN).map((part) => this.#released(part)),
      ...chunks(ofKind(outcomes, 'done'), MAX_SAME).map((part) => this.#done(part)),
    ];
  }

  #done(part: readonly OutcomeOf<'done'>[]): Omit<HeldChange, 'token'> {
    return {
      eventIds: idsOf(part),
      assignments: `status = 1, done_at = ${this.dialect.now}, unfinished_attempts = 0, ${CLEARED_LOCK}`,
      parameters: {},
    };
  }

  #retries(part: readonly OutcomeOf<'retry'>[]): Omit<HeldChange, 'token'> {
    const delay = this.#cases(part, (name) => this.dialect.after(`:delay${name}`));
    const error = this.#cases(part, (name) => `:error${name}`);
    return {
      eventIds: idsOf(part),
      assignments: `status = 2, attempts = attempts + 1, unfinished_attempts = 0, available_at = ${delay}, last_error = ${error}, ${CLEARED_LOCK}`,
      parameters: parametersOf(part, ({ delayMs, error: text }) => ({
        delay: delayMs,
        error: errorText(text),
      })),
    };
  }

  #dead(part: readonly OutcomeOf<'dead'>[]): Omit<HeldChange, 'token'> {
    const error = this.#cases(part, (name) => `:error${name}`);
    const blocks = this.#cases(part, (name) => this.#integer(`:blocks${name}`));
    return {
      eventIds: idsOf(part),
      assignments: `status = 3, unfinished_attempts = 0, last_error = ${error}, blocks_key = CASE WHEN key_hash IS NULL THEN 0 ELSE ${blocks} END, ${CLEARED_LOCK}`,
      parameters: parametersOf(part, ({ error: text, blocksKey }) => ({
        error: errorText(text),
        blocks: blocksKey ? 1 : 0,
      })),
    };
  }

  /**
   * A released event that may have killed its process keeps an empty owner, because the index of
   * the owners is how such events are found.
   */
  #released(part: readonly OutcomeOf<'released'>[]): Omit<HeldChange, 'token'> {
    const until = this.#cases(part, (name) => this.dialect.after(`:delay${name}`));
    const attempts = this.#cases(part, (name) => this.#integer(`:attempts${name}`));
    const owner = this.#cases(part, (name) => `:owner${name}`);
    return {
      eventIds: idsOf(part),
      assignments: `available_at = CASE WHEN available_at > ${until} THEN available_at ELSE ${until} END, unfinished_attempts = ${attempts}, locked_by = ${owner}, locked_at = NULL, lease_until = NULL`,
      parameters: parametersOf(part, ({ delayMs, unfinishedAttempts }) => ({
        delay: delayMs,
        attempts: unfinishedAttempts,
        owner: unfinishedAttempts > 0 ? '' : null,
      })),
    };
  }

  #cases(part: readonly unknown[], value: (name: string) => string): string {
    const whens = part.map((_, index) => `WHEN :id${index} THEN ${value(String(index))}`);
    return `CASE event_id ${whens.join(' ')} END`;
  }

  /** PostgreSQL takes a parameter for text without the cast. */
  #integer(parameter: string): string {
    const type = { postgres: 'integer', mysql: 'SIGNED', sqlite: 'INTEGER' }[this.dialect.name];
    return `CAST(${parameter} AS ${type})`;
  }
}

const ofKind = <Kind extends EventOutcome['kind']>(
  outcomes: readonly EventOutcome[],
  kind: Kind,
): readonly OutcomeOf<Kind>[] =>
  outcomes.filter((outcome): outcome is OutcomeOf<Kind> => outcome.kind === kind);

const idsOf = (part: readonly EventOutcome[]): readonly string[] =>
  part.map(({ eventId }) => eventId);

function parametersOf<Outcome extends EventOutcome>(
  part: readonly Outcome[],
  valuesOf: (outcome: Outcome) => Readonly<Record<string, SqlValue>>,
): Readonly<Record<string, SqlValue>> {
  const parameters: Record<string, SqlValue> = {};
  part.forEach((outcome, index) => {
    parameters[`id${index}`] = outcome.eventId;
    for (const [name, value] of Object.entries(valuesOf(outcome)))
      parameters[`${name}${index}`] = value;
  });
  return parameters;
}

const chunks = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );

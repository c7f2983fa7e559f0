import {
  type BlockedKey,
  type ConnectionProvider,
  type EventSelection,
  IllegalArgumentError,
  type LeasedOutboxStore,
  type ListedEvent,
  type OutboxEvent,
  type OutboxInspection,
  type OutboxLogger,
  type OutboxStore,
  realRuntime,
  type Runtime,
  type SqlConnection,
  type Timer,
  UnsupportedStoreOperationError,
  withConnection,
} from '@nest-event-bus/outbox';
import { causeGroupIdOf, causeGroupsOf, type OutboxCauseGroup } from './cause-groups.js';
import { codeOf, CommandLog, type OutboxCommand, type OutboxCommandNote } from './command-log.js';
import {
  OutboxEventNotFoundError,
  OutboxOperationNotFoundError,
  OutboxPlanChangedError,
} from './outbox-admin-errors.js';
import {
  type DeadEventSelection,
  lastSequenceOf,
  type OutboxPlan,
  type PlannedEvents,
  planIdOf,
  planOf,
} from './outbox-plan.js';
import { type OutboxOperation, ReplayRun } from './replay-run.js';

export interface OutboxAdminParts {
  readonly connectionProvider: ConnectionProvider;
  readonly store: OutboxStore;
  readonly logger: OutboxLogger;
  /** Makes the outbox look for events. */
  readonly wake: () => void;
  readonly runtime?: Runtime;
  readonly onCommand?: ((command: OutboxCommand) => void) | undefined;
}

export interface OutboxEventPage {
  readonly events: readonly ListedEvent[];
  /** The `afterSequence` of the next page; null on the last one. */
  readonly next: number | null;
}

export interface OutboxRedriveOptions extends OutboxCommandNote {
  /** Events per second. Default 100. */
  readonly rate?: number;
}

/** A plan holds so many events at most. */
const MAX_PLANNED = 10_000;
const PAGE = 1_000;
const MAX_PAGE = 1_000;
const MAX_BLOCKED_KEYS = 1_000;
const PURGE_BATCH = 500;
const DEFAULT_RATE = 100;
const MAX_RATE = 10_000;
/** Operations that have ended and are remembered. */
const REMEMBERED = 100;
const CLOSE_MS = 5_000;

/** What operators can do with pending and DEAD events. Every command is audited. */
export class OutboxAdmin {
  readonly #log: CommandLog;
  readonly #runtime: Runtime;
  readonly #runs = new Map<string, ReplayRun>();

  constructor(private readonly parts: OutboxAdminParts) {
    this.#runtime = parts.runtime ?? realRuntime;
    const { logger, onCommand } = parts;
    this.#log = new CommandLog({ logger, onCommand, now: () => this.#runtime.now() });
  }

  /** Lists events in the order of the table, without payloads. */
  async list(selection: EventSelection): Promise<OutboxEventPage> {
    const limit = Math.min(MAX_PAGE, selection.limit);
    const events = await this.#inspect((inspection, connection) =>
      inspection.listEvents(connection, { ...selection, limit }),
    );
    return { events, next: events.length < limit ? null : (events.at(-1)?.sequence ?? null) };
  }

  /** Returns an event with its payload, its headers and its error. */
  async show(eventId: string): Promise<OutboxEvent> {
    const event = await this.#inspect((inspection, connection) =>
      inspection.readEvent(connection, eventId),
    );
    if (event) return event;
    throw new OutboxEventNotFoundError(eventId);
  }

  /** Groups the first 10,000 DEAD events by their cause. */
  async groups(selection: DeadEventSelection = {}): Promise<{
    readonly groups: readonly OutboxCauseGroup[];
    readonly isComplete: boolean;
  }> {
    const { events, isComplete } = await this.#deadEvents(selection);
    return { groups: causeGroupsOf(events), isComplete };
  }

  /** Shows what a redrive or a purge would change. Changes nothing. */
  plan(selection: DeadEventSelection = {}, note: OutboxCommandNote = {}): Promise<OutboxPlan> {
    return this.#log.run(
      'plan',
      'DEAD events',
      note,
      async () => planOf(selection, await this.#deadEvents(selection)),
      ({ count }) => count,
    );
  }

  /**
   * Starts to make the events of a plan NEW again, in the order of the table. Throws
   * OutboxPlanChangedError if the DEAD events are not those of the plan any more.
   */
  async redrive(
    plan: Pick<OutboxPlan, 'id' | 'selection'>,
    { rate = DEFAULT_RATE, ...note }: OutboxRedriveOptions = {},
  ): Promise<OutboxOperation> {
    const run = await this.#log.run(
      'redrive',
      plan.id,
      note,
      async () => {
        if (!(rate > 0 && rate <= MAX_RATE))
          throw new IllegalArgumentError(`rate must be between 0 and ${MAX_RATE} per second.`);
        const events = await this.#eventsOf(plan);
        const { connectionProvider, store, wake } = this.parts;
        const parts = { connectionProvider, store, wake, runtime: this.#runtime };
        const ids = events.map(({ eventId }) => eventId);
        const started = new ReplayRun(parts, ids, plan.id, this.#runtime.uuid(), rate);
        this.#remember(started);
        return started;
      },
      ({ view }) => view.total,
      'started',
    );
    // There is nobody to tell that the logger has thrown.
    run.ended.then(() => this.#tellEnd(run, note)).catch(() => undefined);
    return run.view;
  }

  /** Deletes the events of a plan, except those that block a key. Returns their number. */
  purge(plan: Pick<OutboxPlan, 'id' | 'selection'>, note: OutboxCommandNote = {}): Promise<number> {
    return this.#log.run(
      'purge',
      plan.id,
      note,
      async (progress) => {
        const ids = (await this.#eventsOf(plan)).map(({ eventId }) => eventId);
        let purged = 0;
        for (let start = 0; start < ids.length; start += PURGE_BATCH) {
          purged += await this.#inspect((inspection, connection) =>
            inspection.purgeDead(connection, ids.slice(start, start + PURGE_BATCH)),
          );
          progress.events = purged;
        }
        return purged;
      },
      (purged) => purged,
    );
  }

  /** The redrives that this process has started, the latest first. */
  operations(): readonly OutboxOperation[] {
    return [...this.#runs.values()].map(({ view }) => view).reverse();
  }

  operation(id: string): OutboxOperation {
    return this.#run(id).view;
  }

  /** Ends a redrive of this process. What was replayed stays replayed. */
  cancel(id: string, note: OutboxCommandNote = {}): Promise<OutboxOperation> {
    return this.#log.run(
      'cancel',
      id,
      note,
      async () => {
        const run = this.#run(id);
        run.cancel();
        await run.ended;
        return run.view;
      },
      ({ replayed }) => replayed,
    );
  }

  /** Keys whose later events wait behind a DEAD one. */
  blockedKeys(limit = MAX_BLOCKED_KEYS): Promise<readonly BlockedKey[]> {
    return this.#leased('blockedKeys', (store, connection) =>
      store.blockedKeys(connection, Math.min(limit, MAX_BLOCKED_KEYS)),
    );
  }

  /** Makes the DEAD events that block the key NEW, at their old place. Returns their number. */
  unblockKey(key: string, note: OutboxCommandNote = {}): Promise<number> {
    return this.#changeKey('unblock-key', key, note, (store, connection) =>
      store.unblockKey(connection, key),
    );
  }

  /** Lets the later events of the key pass its DEAD ones. Returns the number of those. */
  skipKey(key: string, note: OutboxCommandNote = {}): Promise<number> {
    return this.#changeKey('skip-key', key, note, (store, connection) =>
      store.skipKey(connection, key),
    );
  }

  /** Ends all redrives of this process. Waits for at most 5 s for a statement of theirs. */
  async close(): Promise<void> {
    for (const run of this.#runs.values()) run.cancel();
    const ended = Promise.all([...this.#runs.values()].map((run) => run.ended));
    let limit: Timer | undefined;
    const late = new Promise<'late'>((resolve) => {
      limit = this.#runtime.setTimer(() => resolve('late'), CLOSE_MS);
    });
    if ((await Promise.race([ended, late])) === 'late')
      this.parts.logger.warn(
        `A redrive of the outbox has not ended within ${CLOSE_MS} ms, because the database has not answered. The outbox does not wait for it any more.`,
      );
    limit?.cancel();
  }

  #tellEnd({ view, failure }: ReplayRun, { by, reason }: OutboxCommandNote): void {
    const { planId, state, replayed } = view;
    this.#log.tell({
      ...{ command: 'redrive', at: this.#runtime.now(), subject: planId, by, reason },
      outcome: state === 'completed' || state === 'running' ? 'done' : state,
      events: replayed,
      ...(state === 'failed' && { code: codeOf(failure) }),
    });
  }

  #changeKey(
    command: 'unblock-key' | 'skip-key',
    key: string,
    note: OutboxCommandNote,
    change: (store: LeasedOutboxStore, connection: SqlConnection) => Promise<number>,
  ): Promise<number> {
    return this.#log.run(
      command,
      key,
      note,
      async () => {
        const changed = await this.#leased(command, change);
        if (changed > 0) this.parts.wake();
        return changed;
      },
      (changed) => changed,
    );
  }

  async #eventsOf({
    id,
    selection,
  }: Pick<OutboxPlan, 'id' | 'selection'>): Promise<readonly ListedEvent[]> {
    const upToSequence = lastSequenceOf(id);
    if (upToSequence === undefined)
      throw new IllegalArgumentError(
        'The id is not one of a plan. Use the id that plan() returns.',
      );
    const { events } = await this.#deadEvents(selection, upToSequence);
    if (planIdOf(events) !== id) throw new OutboxPlanChangedError();
    return events;
  }

  async #deadEvents(
    { group, ...filter }: DeadEventSelection,
    upToSequence?: number,
  ): Promise<PlannedEvents> {
    const found: ListedEvent[] = [];
    let afterSequence: number | undefined;
    for (;;) {
      const selection = { ...filter, status: 'dead', afterSequence, upToSequence } as const;
      const page = await this.#inspect((inspection, connection) =>
        inspection.listEvents(connection, { ...selection, limit: PAGE }),
      );
      found.push(...page.filter((event) => !group || causeGroupIdOf(event) === group));
      if (found.length > MAX_PLANNED)
        return { events: found.slice(0, MAX_PLANNED), isComplete: false };
      if (page.length < PAGE) return { events: found, isComplete: true };
      afterSequence = page.at(-1)?.sequence;
    }
  }

  #inspect<T>(
    work: (inspection: OutboxInspection, connection: SqlConnection) => Promise<T>,
  ): Promise<T> {
    const { store, connectionProvider } = this.parts;
    const { inspection } = store;
    if (!inspection)
      return Promise.reject(new UnsupportedStoreOperationError(store.name, 'inspection'));
    return withConnection(connectionProvider, (connection) => work(inspection, connection));
  }

  #leased<T>(
    operation: string,
    work: (store: LeasedOutboxStore, connection: SqlConnection) => Promise<T>,
  ): Promise<T> {
    const { store, connectionProvider } = this.parts;
    if (!('blockedKeys' in store))
      return Promise.reject(new UnsupportedStoreOperationError(store.name, operation));
    return withConnection(connectionProvider, (connection) =>
      work(store as LeasedOutboxStore, connection),
    );
  }

  #run(id: string): ReplayRun {
    const run = this.#runs.get(id);
    if (run) return run;
    throw new OutboxOperationNotFoundError(id);
  }

  #remember(run: ReplayRun): void {
    this.#runs.set(run.id, run);
    for (const [id, { view }] of this.#runs) {
      if (this.#runs.size <= REMEMBERED) return;
      if (view.state !== 'running') this.#runs.delete(id);
    }
  }
}

import { ClosedError, type BrokerDriver, type DriverLogger } from '@nest-event-bus/broker';
import { Deferred, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type {
  DrainReport,
  RecordCounts,
  ConsumingSessionFactory,
  ConsumingSessionOptions,
  ConsumingSession,
  ConsumingStatus,
} from '../consuming/session/consuming-session.js';
import type { Decision, DecisionPlace } from '../model/outcomes/decision.js';
import type { LaneView } from '../model/states/lane-view.js';
import type { PauseReason } from '../consuming/pauses/pause-reason.js';

export const DRAINED: DrainReport = { complete: true, abandoned: [] };

/** Behaviour of a fake session. Omitted calls succeed at once. */
export interface SessionScript {
  /**
   * Promise with which `start` resolves; `never` joins for ever. If omitted, `start` resolves at
   * once.
   */
  joins?: Promise<void> | 'never';
  pause?: () => Promise<void>;
  close?: (drainMs: number) => Promise<DrainReport>;
}

/** A ConsumingSession that behaves as the interface says, and as its script says. */
export class FakeSession implements ConsumingSession {
  readonly id: string;
  readonly calls: string[] = [];
  readonly pauses = new Set<PauseReason>();
  lanes: readonly LaneView[] = [];
  counts: RecordCounts = {
    received: 0,
    succeeded: 0,
    discarded: 0,
    duplicates: 0,
    retried: 0,
    deadLettered: 0,
    failed: 0,
    handedBack: 0,
    inFlight: 0,
    slicesCut: 0,
    membershipsGivenUp: 0,
  };
  bufferedBytes = 0;
  readonly #listeners = new Set<() => void>();
  readonly #closed = new Deferred<never>();
  #status: Omit<ConsumingStatus, 'pauses'>;

  constructor(
    readonly options: ConsumingSessionOptions,
    private readonly script: SessionScript = {},
  ) {
    this.id = `${options.containerId}-${options.sessionIndex}`;
    this.#status = {
      state: 'idle',
      since: options.runtime.now(),
      assignment: [],
      partitionPauses: [],
      runningHandlers: 0,
      stuckHandlers: 0,
    };
  }

  get status(): ConsumingStatus {
    return { ...this.#status, pauses: [...this.pauses] };
  }

  get isClosed(): boolean {
    return this.#status.state === 'closed';
  }

  get wasStarted(): boolean {
    return this.calls.includes('start');
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Changes the status, as a broker or handlers would. */
  becomes(change: Partial<ConsumingStatus>): void {
    this.#status = { ...this.#status, since: this.options.runtime.now(), ...change };
    for (const listener of this.#listeners) listener();
  }

  async start(): Promise<void> {
    this.calls.push('start');
    if (this.isClosed) throw new ClosedError('closed');
    this.becomes({ state: 'joining' });
    const { joins } = this.script;
    await Promise.race([
      joins === 'never' ? new Promise<void>(() => {}) : joins,
      this.#closed.promise,
    ]);
    this.becomes({ state: 'joined', error: undefined });
  }

  async pause(reason: PauseReason): Promise<void> {
    this.calls.push(`pause ${reason}`);
    this.pauses.add(reason);
    await this.script.pause?.();
  }

  resume(reason: PauseReason): readonly PauseReason[] {
    this.calls.push(`resume ${reason}`);
    this.pauses.delete(reason);
    return [...this.pauses];
  }

  /** Applies a decision only if the partition waits for one, like a real session. */
  decide({ topic, partition, offset }: DecisionPlace, decision: Decision): boolean {
    const waits = this.#status.partitionPauses.some(
      (pause) =>
        pause.topic === topic &&
        pause.partition === partition &&
        pause.reasons.includes('strict') &&
        (offset ?? pause.undecidedOffset) === pause.undecidedOffset,
    );
    if (waits) this.calls.push(`decide ${topic}-${partition} ${decision}`);
    return waits;
  }

  async close({ drainMs = 0 } = {}): Promise<DrainReport> {
    this.calls.push(`close ${drainMs}`);
    this.becomes({ state: 'draining' });
    const report = (await this.script.close?.(drainMs)) ?? DRAINED;
    this.becomes({ state: 'closed' });
    this.#closed.reject(new ClosedError('closed'));
    return report;
  }

  onStatusChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/**
 * A ConsumingSessionFactory that keeps its sessions. `scripts` defines the behaviour of each
 * session by its id.
 */
export class FakeSessions {
  readonly all: FakeSession[] = [];
  /** Session ids whose options the driver rejects. */
  readonly refused = new Set<string>();
  readonly scripts = new Map<string, SessionScript>();
  /** Script of sessions that have no other script. */
  everyScript: SessionScript = {};

  readonly create: ConsumingSessionFactory = (options) => {
    const id = `${options.containerId}-${options.sessionIndex}`;
    if (this.refused.has(id)) throw new Error(`${id} is refused`);
    const session = new FakeSession(options, this.scripts.get(id) ?? this.everyScript);
    this.all.push(session);
    return session;
  };

  /** Returns the latest session with this id. */
  get(id: string): FakeSession {
    const found = this.all.findLast((session) => session.id === id);
    if (!found) throw new Error(`No session ${id} among ${this.all.map((one) => one.id).join()}`);
    return found;
  }

  get open(): readonly FakeSession[] {
    return this.all.filter(({ isClosed }) => !isClosed);
  }
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly context: Readonly<Record<string, unknown>>;
}

export class RecordingLogger implements DriverLogger {
  readonly lines: LogLine[] = [];
  readonly debug = this.#writer('debug');
  readonly info = this.#writer('info');
  readonly warn = this.#writer('warn');
  readonly error = this.#writer('error');

  #writer(level: string): DriverLogger['info'] {
    return (message, context = {}) => void this.lines.push({ level, message, context });
  }
}

/** A driver that fake sessions never call. */
export const noDriver = { name: 'none', capabilities: {} } as BrokerDriver;

export function virtualTestBed(runtime = new VirtualRuntime()): {
  runtime: VirtualRuntime;
  logger: RecordingLogger;
  sessions: FakeSessions;
} {
  return { runtime, logger: new RecordingLogger(), sessions: new FakeSessions() };
}

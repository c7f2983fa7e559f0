import {
  FencedError,
  type BrokerRecord,
  type ConsumerSession,
  type SessionStatus,
  type TopicPartition,
} from '@nest-event-bus/broker';
import { abortable, Deferred, type Runtime, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { type Outcome, type RecordProcessor, succeeded } from '../../model/outcomes/outcome.js';
import { type LogLine, recordingLogger } from './intake-world.spec-support.js';
import { LaneGate } from '../pauses/lane-gate.js';
import { LaneMemory } from '../lanes/buffer-limit.js';
import { Lanes } from '../lanes/lanes.js';
import { LingeringHandlers } from './lingering-handlers.js';
import type { Hold, LaneObserver } from '../lanes/lane-parts.js';
import { MetadataBudget } from '../commits/metadata-budget.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import { SerialLane } from '../lanes/serial-lane.js';
import { nameOf } from '../lanes/partition-name.js';
import { PauseLedger } from '../pauses/pause-ledger.js';
import { Tally } from './record-counters.js';

/** A driver's session that does only what the test says, and writes down what it is told. */
export class ScriptedSession {
  readonly told: string[] = [];
  readonly positions = new Map<string, number>();
  readonly answers: (readonly BrokerRecord[] | Error)[] = [];
  /** Whether it stands behind what it has handed out, or where the test says. */
  follows = false;
  status: SessionStatus = { state: 'stable', since: 0, generation: 1 };

  pause(partitions: readonly TopicPartition[]): void {
    this.#tell('pause', partitions);
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#tell('resume', partitions);
  }

  seek({ topic, partition }: TopicPartition, offset: number): void {
    const name = nameOf(topic, partition);
    if (!this.positions.has(name)) throw new FencedError([{ topic, partition }], 'not yours');
    this.told.push(`seek ${name} ${offset}`);
    this.positions.set(name, offset);
  }

  position({ topic, partition }: TopicPartition): number | undefined {
    return this.positions.get(nameOf(topic, partition));
  }

  async poll(_: number, signal?: AbortSignal): Promise<readonly BrokerRecord[]> {
    const answer = this.answers.shift();
    if (answer instanceof Error) throw answer;
    const last = answer?.at(-1);
    if (last && this.follows)
      this.positions.set(nameOf(last.topic, last.partition), last.offset + 1);
    return answer ?? abortable(new Deferred<never>().promise, signal);
  }

  get asConsumer(): ConsumerSession {
    return this as unknown as ConsumerSession;
  }

  #tell(what: string, partitions: readonly TopicPartition[]): void {
    this.told.push(
      [what, ...partitions.map(({ topic, partition }) => nameOf(topic, partition))].join(' '),
    );
  }
}

/** Lanes behind a gate, on a scripted session. */
export class GateBench implements LaneObserver {
  readonly runtime = new VirtualRuntime();
  readonly session = new ScriptedSession();
  readonly ledger = new PauseLedger();
  readonly memory = new LaneMemory(() => Infinity);
  readonly lanes = new Lanes(new LingeringHandlers(), this.memory);
  readonly tally = new Tally();
  readonly log: LogLine[] = [];
  readonly holds: Hold[] = [];
  readonly late: string[] = [];
  done = 0;
  readonly gate = new LaneGate({
    session: this.session.asConsumer,
    ledger: this.ledger,
    lanes: this.lanes,
    runtime: this.runtime,
    logger: recordingLogger(this.log),
    onChange: () => undefined,
  });
  readonly handled: number[] = [];

  constructor(
    private readonly answer: (offset: number) => Outcome | Promise<Outcome> = () => succeeded,
    private readonly processSlice?: RecordProcessor['processSlice'],
  ) {}

  lane(
    position = 0,
    runtime: Runtime = this.runtime,
    { partition = 0, dueAt }: { partition?: number; dueAt?: RecordProcessor['dueAt'] } = {},
  ): PartitionLane {
    const processor: RecordProcessor = {
      process: ({ record: { offset } }) => {
        this.handled.push(offset);
        return this.answer(offset);
      },
      ...(this.processSlice && { processSlice: this.processSlice }),
      ...(dueAt && { dueAt }),
    };
    const lane = new SerialLane(
      { topic: 't', partition, position, committed: null },
      {
        processor,
        runtime,
        tally: this.tally,
        sessionIndex: 0,
        observer: this,
        settings: {
          maxPollRecords: 3,
          maxPollIntervalMs: 60_000,
          failureBackoff: { initialMs: 100, maxMs: 1_000 },
        },
        commits: { after: 'slice', waits: false, yields: false },
        memory: this.memory,
        progress: { topicId: null, budget: new MetadataBudget() },
        predecessors: [],
      },
    );
    this.session.positions.set(lane.name, position);
    this.lanes.add(lane);
    this.gate.enter(lane);
    this.session.told.length = 0;
    return lane;
  }

  onDone(): void {
    this.done++;
  }

  onRoom(lane: PartitionLane): void {
    this.gate.relieve(lane);
  }

  onWaiting(lane: PartitionLane): void {
    this.gate.follow(lane);
  }

  onRunning(): void {}

  onHold(_: PartitionLane, hold: Hold): void {
    this.holds.push(hold);
  }

  async whenStored(): Promise<void> {}

  onLate(_: PartitionLane, { record }: { readonly record: BrokerRecord }, { kind }: Outcome): void {
    this.late.push(`${record.offset} ${kind}`);
  }
}

export function recordsOf(...offsets: readonly number[]): readonly BrokerRecord[] {
  return offsets.map((offset) => ({
    topic: 't',
    partition: 0,
    offset,
    timestamp: 0,
    leaderEpoch: 0,
    key: null,
    value: null,
    headers: [],
    sizeInBytes: 0,
  }));
}

import {
  FencedError,
  type BrokerRecord,
  type ConsumerSession,
  type SessionStatus,
  type TopicPartition,
} from '@nest-event-bus/broker';
import { abortable, Deferred, type Runtime, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { type Outcome, type RecordProcessor, succeeded } from '../../model/outcomes/outcome.js';
import { type LogLine, recordingLogger } from './consuming-test-bed.spec-support.js';
import { PartitionPauser } from '../pauses/partition-pauser.js';
import { BufferLimit } from '../lanes/buffer-limit.js';
import { Lanes } from '../lanes/lanes.js';
import { LingeringHandlers } from './lingering-handlers.js';
import type { LanePause, LaneObserver } from '../lanes/lane-parts.js';
import { MetadataBudget } from '../commits/metadata-budget.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import { SerialLane } from '../lanes/serial-lane.js';
import { partitionName } from '../lanes/partition-name.js';
import { PauseReasonSets } from '../pauses/pause-reason-sets.js';
import { RecordCounters } from './record-counters.js';

/** A consumer session whose answers the test sets, and which records its calls. */
export class ScriptedSession {
  readonly calls: string[] = [];
  readonly positions = new Map<string, number>();
  readonly answers: (readonly BrokerRecord[] | Error)[] = [];
  /** True if the position follows the records that were handed out. */
  follows = false;
  status: SessionStatus = { state: 'stable', since: 0, generation: 1 };

  pause(partitions: readonly TopicPartition[]): void {
    this.#tell('pause', partitions);
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#tell('resume', partitions);
  }

  seek({ topic, partition }: TopicPartition, offset: number): void {
    const name = partitionName(topic, partition);
    if (!this.positions.has(name)) throw new FencedError([{ topic, partition }], 'not yours');
    this.calls.push(`seek ${name} ${offset}`);
    this.positions.set(name, offset);
  }

  position({ topic, partition }: TopicPartition): number | undefined {
    return this.positions.get(partitionName(topic, partition));
  }

  async poll(_: number, signal?: AbortSignal): Promise<readonly BrokerRecord[]> {
    const answer = this.answers.shift();
    if (answer instanceof Error) throw answer;
    const last = answer?.at(-1);
    if (last && this.follows)
      this.positions.set(partitionName(last.topic, last.partition), last.offset + 1);
    return answer ?? abortable(new Deferred<never>().promise, signal);
  }

  get asConsumer(): ConsumerSession {
    return this as unknown as ConsumerSession;
  }

  #tell(what: string, partitions: readonly TopicPartition[]): void {
    this.calls.push(
      [what, ...partitions.map(({ topic, partition }) => partitionName(topic, partition))].join(
        ' ',
      ),
    );
  }
}

/** Lanes with a PartitionPauser on a scripted session. */
export class LaneTestBed implements LaneObserver {
  readonly runtime = new VirtualRuntime();
  readonly session = new ScriptedSession();
  readonly pauseReasons = new PauseReasonSets();
  readonly bufferLimit = new BufferLimit(() => Infinity);
  readonly lanes = new Lanes(new LingeringHandlers(), this.bufferLimit);
  readonly counters = new RecordCounters();
  readonly log: LogLine[] = [];
  readonly pauses: LanePause[] = [];
  readonly late: string[] = [];
  done = 0;
  readonly pauser = new PartitionPauser({
    session: this.session.asConsumer,
    pauseReasons: this.pauseReasons,
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
        counters: this.counters,
        sessionIndex: 0,
        committer: { request: () => void this.done++, whenStored: async () => undefined },
        observer: this,
        settings: {
          listenerType: 'SINGLE',
          maxPollRecords: 3,
          maxPollIntervalMs: 60_000,
          failureBackoff: { initialMs: 100, maxMs: 1_000 },
        },
        commits: { after: 'slice', waits: false, yields: false },
        bufferLimit: this.bufferLimit,
        progress: { topicId: null, budget: new MetadataBudget() },
        previousHandlers: [],
      },
    );
    this.session.positions.set(lane.name, position);
    this.lanes.add(lane);
    this.pauser.onLaneAdded(lane);
    this.session.calls.length = 0;
    return lane;
  }

  onBufferSpace(lane: PartitionLane): void {
    this.pauser.releaseBackpressure(lane);
  }

  onWaiting(lane: PartitionLane): void {
    this.pauser.onWaitingChanged(lane);
  }

  onRunning(): void {}

  onPause(_: PartitionLane, hold: LanePause): void {
    this.pauses.push(hold);
  }

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

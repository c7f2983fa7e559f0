import { errorNameOf, type PartitionError, type TopicPartition } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { CurrentState, PartitionObserver } from '../consuming/session/consuming-session.js';
import type { BindingEventSink } from '../model/events/event-sink.js';

/** Properties of every event of the session. */
export interface SessionIdentity {
  readonly session: string;
  readonly groupId: string;
  readonly tier: number;
}

/** Emits the events of one session: its partitions, its failures and its recoveries. */
export class SessionEvents implements PartitionObserver {
  /** Start of the failure, by the monotonic clock. */
  #failingSince: number | undefined;
  #isPermanent = false;

  constructor(
    private readonly identity: SessionIdentity,
    private readonly events: BindingEventSink,
    private readonly runtime: Pick<Runtime, 'monotonic'>,
  ) {}

  /** Compares the state with the last one. Called at each change of the status. */
  update({ state, error }: CurrentState): void {
    if (state === 'joined') return this.#recovered();
    if (state !== 'retrying' && state !== 'failed') return;
    const isPermanent = state === 'failed';
    const isKnown = this.#failingSince !== undefined && this.#isPermanent === isPermanent;
    if (isKnown || !error) return;
    this.#failingSince ??= this.runtime.monotonic();
    this.#isPermanent = isPermanent;
    const exceptionClass = errorNameOf(error);
    this.events.emit('session.failed', { ...this.identity, exceptionClass, isPermanent });
  }

  onAssigned(partitions: readonly TopicPartition[]): void {
    if (partitions.length === 0) return;
    this.events.emit('partitions.assigned', {
      ...this.identity,
      partitions: partitions.map(placeOf),
    });
  }

  onRevoked(partitions: readonly TopicPartition[], isLost: boolean): void {
    if (partitions.length === 0) return;
    this.events.emit('partitions.revoked', {
      ...this.identity,
      partitions: partitions.map(placeOf),
      isLost,
    });
  }

  onStopped({ topic, partition, offset, code }: PartitionError): void {
    const position = {
      topic,
      partition,
      offset: offset === undefined ? undefined : String(offset),
    };
    this.events.emit('partition.stopped', { ...this.identity, ...position, code });
  }

  #recovered(): void {
    if (this.#failingSince === undefined) return;
    const failedForMs = Math.round(this.runtime.monotonic() - this.#failingSince);
    this.#failingSince = undefined;
    this.#isPermanent = false;
    this.events.emit('session.recovered', { ...this.identity, failedForMs });
  }
}

const placeOf = ({ topic, partition }: TopicPartition): TopicPartition => ({ topic, partition });

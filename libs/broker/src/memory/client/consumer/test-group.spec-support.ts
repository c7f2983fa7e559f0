import type {
  AssignmentListener,
  ConsumerOptions,
  ConsumerSession,
  SessionStatus,
} from '../../../port/consumer.js';
import type { BrokerRecord, OutgoingRecord } from '../../../port/record.js';
import type { VirtualRuntime } from '../../../runtime/index.js';
import { createTestCluster, observe } from '../../broker/test-cluster.spec-support.js';
import type { MemoryBroker, MemoryBrokerOptions } from '../../memory-broker.js';
import { memory } from '../../memory-driver.js';

export interface TestMember {
  readonly session: ConsumerSession;
  /** The callbacks in order, as `kind topic-partition ...`. */
  readonly callbacks: string[];
  readonly statuses: SessionStatus[];
  readonly stops: Error[];
}

/** A cluster with one topic "t", and members of group "g", in virtual time. */
export class TestGroup {
  readonly runtime: VirtualRuntime;
  readonly broker: MemoryBroker;

  constructor(partitions = 1, options: MemoryBrokerOptions = {}) {
    const { runtime, broker, cluster } = createTestCluster(options);
    this.runtime = runtime;
    this.broker = broker;
    cluster.topics.create({ name: 't', partitions });
  }

  member(
    options: Partial<ConsumerOptions> & { readonly clientId?: string } = {},
    on: Partial<AssignmentListener> = {},
  ): TestMember & { start(): ReturnType<typeof observe<void>> } {
    const { clientId, ...consumer } = options;
    const driver = memory({ broker: this.broker, clientId });
    const session = driver.consumer({ groupId: 'g', topics: ['t'], ...consumer });
    const [callbacks, statuses, stops]: [string[], SessionStatus[], Error[]] = [[], [], []];
    session.onStatus((status) => statuses.push(status));
    const listener: AssignmentListener = {
      onAssigned: (partitions) => (
        callbacks.push(describeCallback('assigned', partitions)),
        on.onAssigned?.(partitions)
      ),
      onRevoked: (partitions) => (
        callbacks.push(describeCallback('revoked', partitions)),
        on.onRevoked?.(partitions)
      ),
      onLost: (partitions) => (
        callbacks.push(describeCallback('lost', partitions)),
        on.onLost?.(partitions)
      ),
      onStopped: (error) => void stops.push(error),
      ...(on.onReset && { onReset: on.onReset }),
    };
    return { session, callbacks, statuses, stops, start: () => observe(session.start(listener)) };
  }

  /** Creates a member and waits until it has joined. */
  async join(
    options: Partial<ConsumerOptions> & { readonly clientId?: string } = {},
    on: Partial<AssignmentListener> = {},
  ): Promise<TestMember> {
    const member = this.member(options, on);
    const started = member.start();
    await this.until(() => started.ended);
    if (started.error) throw started.error;
    return member;
  }

  async write(...values: string[]): Promise<void> {
    await this.send(values.map((value) => ({ topic: 't', partition: 0, value })));
  }

  async send(records: readonly OutgoingRecord[]): Promise<void> {
    const driver = memory({ broker: this.broker, clientId: 'writer' });
    await driver.producer({ lingerMs: 0 }).send(records);
    await driver.close();
  }

  /** Returns the records of one poll. */
  async poll(member: TestMember, max = 100): Promise<readonly BrokerRecord[]> {
    const polled = observe(member.session.poll(max));
    await this.until(() => polled.ended);
    if (polled.error) throw polled.error;
    return polled.result ?? [];
  }

  /** Advances time until the condition is true; fails after ten virtual minutes. */
  async until(condition: () => boolean): Promise<void> {
    const deadline = this.runtime.monotonic() + 600_000;
    await this.runtime.settle();
    while (!condition()) {
      if (this.runtime.monotonic() > deadline)
        throw new Error('The condition was not true within ten virtual minutes.');
      await this.runtime.advance(10);
    }
  }
}

function describeCallback(
  kind: string,
  partitions: readonly { topic: string; partition: number }[],
): string {
  return [kind, ...partitions.map(({ topic, partition }) => `${topic}-${partition}`)].join(' ');
}

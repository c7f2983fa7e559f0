import type { ConsumerOptions } from '../port/consumer.js';
import { VirtualRuntime } from '../runtime/index.js';
import { memory, MemoryBroker } from './index.js';

const SESSION_MS = 45_000;

describe('memory(), a member by KIP-848 that is fenced while its group has no coordinator', () => {
  it.each([
    ['dynamic', {}],
    ['static', { groupInstanceId: 'pod-1' }],
  ] satisfies [string, Partial<ConsumerOptions>][])(
    'gets its partitions back without waiting for its own old membership (%s)',
    async (_, options) => {
      const runtime = new VirtualRuntime();
      const broker = new MemoryBroker({ runtime, consumerSessionTimeoutMs: SESSION_MS });
      const driver = memory({ broker });
      await settled(runtime, driver.admin().createTopics([{ name: 't', partitions: 2 }]));
      const session = driver.consumer({
        groupId: 'g',
        topics: ['t'],
        groupProtocol: 'consumer',
        ...options,
      });
      const nothing = () => undefined;
      const listener = { onAssigned: nothing, onRevoked: nothing, onLost: nothing };
      await settled(runtime, session.start(listener));
      await runtime.advance(10_000);
      const { memberId } = session;
      broker.faults.refuse({ operation: 'heartbeat' }, 'FENCED_MEMBER_EPOCH', { times: 1 });
      const leaves = broker.faults.refuse({ operation: 'leave' }, 'NOT_COORDINATOR', { times: 5 });
      await runtime.advance(15_000);
      expect(leaves.hits).toBe(5);
      expect(session.memberId).not.toBe(memberId);
      expect(session.assignment()).toHaveLength(2);
      await settled(runtime, driver.close());
    },
  );
});

async function settled<T>(runtime: VirtualRuntime, work: Promise<T>): Promise<T> {
  await runtime.advance(10_000);
  return work;
}

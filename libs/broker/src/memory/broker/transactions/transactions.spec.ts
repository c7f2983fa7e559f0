import { sequenced } from '../log/batch-of.spec-support.js';
import { createTestCluster } from '../test-cluster.spec-support.js';
import type { RefusalName } from '../faults/refusal.js';
import type { ProducerIdentity } from './transactions.js';

const to = { topic: 't', partition: 0 };
const refused = (reason: RefusalName) => expect.objectContaining({ reason });

function setUp() {
  const { runtime, cluster } = createTestCluster();
  cluster.topics.create({ name: 't' });
  const { transactions } = cluster;
  const write = ({ producerId, epoch }: ProducerIdentity, sequence = 0) =>
    transactions.append(
      'tx',
      { producerId, epoch },
      to,
      sequenced(sequence, ['v'], {
        producerId: BigInt(producerId),
        producerEpoch: epoch,
        transactional: true,
      }),
    );
  return { runtime, cluster, transactions, write, log: cluster.topics.partitionAtLeader(to).log };
}

const copy = ({ producerId, epoch }: ProducerIdentity): ProducerIdentity => ({ producerId, epoch });

describe('Transactions', () => {
  it('writes a marker to every partition of the transaction, and uses the next epoch', () => {
    const { transactions, write, log } = setUp();
    const identity = copy(transactions.init('tx', 1_000));
    write(identity);
    expect([log.lastStable, log.high]).toEqual([0, 1]);
    const next = transactions.end('tx', identity, 'commit');
    expect(next).toMatchObject({ producerId: identity.producerId, epoch: identity.epoch + 1 });
    expect([log.lastStable, log.high]).toEqual([2, 2]);
    expect(log.batchesFrom(1)[0]?.control).toBe(true);
  });

  it('ends a transaction once: a repeated end gets the same answer', () => {
    const { transactions, write, log } = setUp();
    const identity = copy(transactions.init('tx', 1_000));
    write(identity);
    const first = copy(transactions.end('tx', identity, 'commit'));
    expect(transactions.end('tx', identity, 'commit')).toMatchObject(first);
    expect(log.high).toBe(2);
    expect(() => transactions.end('tx', identity, 'abort')).toThrow(refused('INVALID_TXN_STATE'));
  });

  it('refuses to commit an empty transaction, but accepts its abort', () => {
    const { transactions } = setUp();
    const identity = copy(transactions.init('tx', 1_000));
    expect(() => transactions.end('tx', identity, 'commit')).toThrow(refused('INVALID_TXN_STATE'));
    expect(transactions.end('tx', identity, 'abort').epoch).toBe(identity.epoch + 1);
  });

  it('aborts the transaction of a predecessor when the id is taken over, and fences the predecessor', () => {
    const { transactions, write, log } = setUp();
    const zombie = copy(transactions.init('tx', 1_000));
    write(zombie);
    const successor = copy(transactions.init('tx', 1_000));
    expect(log.abortedBetween(0, 1)).toHaveLength(1);
    expect(() => write(zombie, 1)).toThrow(refused('INVALID_PRODUCER_EPOCH'));
    expect(() => transactions.end('tx', zombie, 'commit')).toThrow(refused('PRODUCER_FENCED'));
    expect(write(successor).baseOffset).toBe(2);
  });

  it('does not give the id back to a producer whose identity is not the latest', () => {
    const { transactions, write } = setUp();
    const first = copy(transactions.init('tx', 1_000));
    write(first);
    const next = copy(transactions.end('tx', first, 'commit'));
    const renewed = copy(transactions.init('tx', 1_000, first));
    expect(renewed.epoch).toBe(next.epoch + 1);
    expect(transactions.init('tx', 1_000, copy(renewed)).epoch).toBe(renewed.epoch + 1);
    expect(() => transactions.init('tx', 1_000, first)).toThrow(refused('PRODUCER_FENCED'));
    expect(() => transactions.init('tx', 1_000, renewed)).toThrow(refused('PRODUCER_FENCED'));
  });

  it('aborts a transaction after its timeout', async () => {
    const { runtime, transactions, write, log } = setUp();
    const identity = copy(transactions.init('tx', 1_000));
    write(identity);
    await runtime.advance(999);
    expect(log.lastStable).toBe(0);
    await runtime.advance(1);
    expect(log.abortedBetween(0, 1)).toHaveLength(1);
    expect(() => transactions.end('tx', identity, 'commit')).toThrow(refused('PRODUCER_FENCED'));
  });

  it('refuses a transaction timeout above the limit of the broker', () => {
    expect(() => setUp().transactions.init('tx', 15 * 60_000 + 1)).toThrow(
      refused('INVALID_TRANSACTION_TIMEOUT'),
    );
  });

  it('assigns another producer id when the epochs are used up', () => {
    const { transactions } = setUp();
    let identity = copy(transactions.init('tx', 1_000));
    const { producerId } = identity;
    while (identity.producerId === producerId)
      identity = copy(transactions.end('tx', identity, 'abort'));
    expect(identity.epoch).toBe(0);
  });
});

describe('offsets of a transaction', () => {
  const noMember = { groupId: 'g', memberId: '', generation: -1 };
  const offset = { ...to, offset: 5 };

  it('are committed with it, are unstable until then, and are dropped with its abort', () => {
    const { transactions, cluster } = setUp();
    let identity = copy(transactions.init('tx', 1_000));
    const kind = () => cluster.groups.committed('g', [to])[0]?.kind;
    transactions.commitOffsets('tx', identity, noMember, [offset]);
    expect(kind()).toBe('unstable');
    identity = copy(transactions.end('tx', identity, 'abort'));
    expect(kind()).toBe('none');
    transactions.commitOffsets('tx', identity, noMember, [offset]);
    transactions.end('tx', identity, 'commit');
    expect(cluster.groups.committed('g', [to])[0]).toMatchObject({
      kind: 'committed',
      offset: { offset: 5 },
    });
  });

  it('are refused for an old generation or a removed member', () => {
    const { transactions } = setUp();
    const identity = copy(transactions.init('tx', 1_000));
    const old = { groupId: 'g', memberId: 'zombie', generation: 3 };
    expect(() => transactions.commitOffsets('tx', identity, old, [offset])).toThrow(
      refused('ILLEGAL_GENERATION'),
    );
  });
});

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

describe('A transaction', () => {
  it('ends with a marker in every partition it wrote to, and the next epoch', () => {
    const { transactions, write, log } = setUp();
    const identity = copy(transactions.init('tx', 1_000));
    write(identity);
    expect([log.lastStable, log.high]).toEqual([0, 1]);
    const next = transactions.end('tx', identity, 'commit');
    expect(next).toMatchObject({ producerId: identity.producerId, epoch: identity.epoch + 1 });
    expect([log.lastStable, log.high]).toEqual([2, 2]);
    expect(log.batchesFrom(1)[0]?.control).toBe(true);
  });

  it('is ended once: a repetition of the end is answered the same', () => {
    const { transactions, write, log } = setUp();
    const identity = copy(transactions.init('tx', 1_000));
    write(identity);
    const first = copy(transactions.end('tx', identity, 'commit'));
    expect(transactions.end('tx', identity, 'commit')).toMatchObject(first);
    expect(log.high).toBe(2);
    expect(() => transactions.end('tx', identity, 'abort')).toThrow(refused('INVALID_TXN_STATE'));
  });

  it('cannot be committed with nothing begun; aborting that is no error', () => {
    const { transactions } = setUp();
    const identity = copy(transactions.init('tx', 1_000));
    expect(() => transactions.end('tx', identity, 'commit')).toThrow(refused('INVALID_TXN_STATE'));
    expect(transactions.end('tx', identity, 'abort').epoch).toBe(identity.epoch + 1);
  });

  it('of a predecessor is aborted when the id is taken over, and the predecessor is fenced', () => {
    const { transactions, write, log } = setUp();
    const zombie = copy(transactions.init('tx', 1_000));
    write(zombie);
    const successor = copy(transactions.init('tx', 1_000));
    expect(log.abortedBetween(0, 1)).toHaveLength(1);
    expect(() => write(zombie, 1)).toThrow(refused('INVALID_PRODUCER_EPOCH'));
    expect(() => transactions.end('tx', zombie, 'commit')).toThrow(refused('PRODUCER_FENCED'));
    expect(write(successor).baseOffset).toBe(2);
  });

  it('does not come back to a producer that names an identity which is not the latest', () => {
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

  it('is aborted by the broker when its time is up', async () => {
    const { runtime, transactions, write, log } = setUp();
    const identity = copy(transactions.init('tx', 1_000));
    write(identity);
    await runtime.advance(999);
    expect(log.lastStable).toBe(0);
    await runtime.advance(1);
    expect(log.abortedBetween(0, 1)).toHaveLength(1);
    expect(() => transactions.end('tx', identity, 'commit')).toThrow(refused('PRODUCER_FENCED'));
  });

  it('may not last longer than the broker allows', () => {
    expect(() => setUp().transactions.init('tx', 15 * 60_000 + 1)).toThrow(
      refused('INVALID_TRANSACTION_TIMEOUT'),
    );
  });

  it('gets another producer id when its epochs are used up', () => {
    const { transactions } = setUp();
    let identity = copy(transactions.init('tx', 1_000));
    const { producerId } = identity;
    while (identity.producerId === producerId)
      identity = copy(transactions.end('tx', identity, 'abort'));
    expect(identity.epoch).toBe(0);
  });
});

describe("A transaction's offsets", () => {
  const nobody = { groupId: 'g', memberId: '', generation: -1 };
  const offset = { ...to, offset: 5 };

  it('count with its commit, are unstable until then, and are gone with its abort', () => {
    const { transactions, cluster } = setUp();
    let identity = copy(transactions.init('tx', 1_000));
    const kind = () => cluster.groups.committed('g', [to])[0]?.kind;
    transactions.commitOffsets('tx', identity, nobody, [offset]);
    expect(kind()).toBe('unstable');
    identity = copy(transactions.end('tx', identity, 'abort'));
    expect(kind()).toBe('none');
    transactions.commitOffsets('tx', identity, nobody, [offset]);
    transactions.end('tx', identity, 'commit');
    expect(cluster.groups.committed('g', [to])[0]).toMatchObject({
      kind: 'committed',
      offset: { offset: 5 },
    });
  });

  it('of a generation or member that is gone are refused', () => {
    const { transactions } = setUp();
    const identity = copy(transactions.init('tx', 1_000));
    const old = { groupId: 'g', memberId: 'zombie', generation: 3 };
    expect(() => transactions.commitOffsets('tx', identity, old, [offset])).toThrow(
      refused('ILLEGAL_GENERATION'),
    );
  });
});

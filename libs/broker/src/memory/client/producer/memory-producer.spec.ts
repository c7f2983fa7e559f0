import {
  BufferFullError,
  ClosedError,
  FencedError,
  InvalidOptionError,
  RecordTooLargeError,
  RefusedError,
  RequestTimeoutError,
  SendError,
  TransactionCommittedError,
  TransactionOutcomeUnknownError,
} from '../../../port/errors.js';
import type { ProducerOptions, ProducerSession } from '../../../port/producer.js';
import type { OutgoingRecord } from '../../../port/record.js';
import { createTestCluster, observe } from '../../broker/test-cluster.spec-support.js';
import { memory } from '../../memory-driver.js';

const to = { topic: 't', partition: 0 };

function setUp(options: ProducerOptions = {}, partitions = 1) {
  const { runtime, broker, cluster } = createTestCluster();
  cluster.topics.create({ name: 't', partitions });
  const driver = memory({ broker, clientId: 'me' });
  const producer = driver.producer({ lingerMs: 0, ...options });
  const send = (...values: string[]) =>
    sending(
      producer,
      values.map((value) => ({ ...to, value })),
    );
  const log = () => cluster.topics.partitionAtLeader(to).log;
  return { runtime, faults: broker.faults, cluster, driver, producer, send, log };
}

function sending(producer: ProducerSession, records: readonly OutgoingRecord[]) {
  return observe(producer.send(records));
}

const statesOf = (error: unknown) =>
  error instanceof SendError ? error.outcomes.map(({ state }) => state) : error;
const causeOf = (error: unknown) => (error as SendError).cause;

describe('MemoryProducer.send', () => {
  it('collects records until lingerMs has passed', async () => {
    const { runtime, send, log } = setUp({ lingerMs: 5 });
    const [one, other] = [send('a'), send('b')];
    await runtime.advance(4);
    expect(log().high).toBe(0);
    await runtime.advance(1);
    expect([one.ended, other.ended]).toEqual([true, true]);
    expect(log().batchesFrom(0)).toHaveLength(1);
  });

  it('sends a full batch without lingering', async () => {
    const { runtime, send, log } = setUp({ lingerMs: 1_000, batchBytes: 300 });
    send('x'.repeat(150));
    send('y'.repeat(150));
    send('z'.repeat(150));
    await runtime.settle();
    expect(log().high).toBe(2);
  });

  it('encodes records at the call, so that later changes have no effect', async () => {
    const { runtime, producer, log, send } = setUp({ lingerMs: 50 });
    send('first');
    await runtime.advance(50);
    const value = Buffer.from('before');
    const sent = sending(producer, [{ ...to, value }]);
    value.write('after!');
    await runtime.advance(50);
    expect(sent.result?.[0]?.offset).toBe(1);
    expect(log().batchesFrom(1)[0]?.bytes.includes('before')).toBe(true);
  });

  it('writes a record once if the response is lost and it is sent again', async () => {
    const { runtime, faults, send, log } = setUp({ requestTimeoutMs: 1_000 });
    const fault = faults.loseAnswers({ operation: 'produce' }, { times: 2 });
    const sent = send('a');
    await runtime.advance(10_000);
    expect(sent.result?.[0]).toMatchObject({ offset: 0 });
    expect([fault.hits, log().high]).toEqual([2, 1]);
  });

  it('writes a record again after a lost response if idempotent is false', async () => {
    const { runtime, faults, send, log } = setUp({ requestTimeoutMs: 1_000, idempotent: false });
    faults.loseAnswers({ operation: 'produce' }, { times: 2 });
    const sent = send('a');
    await runtime.advance(10_000);
    expect(sent.result?.[0]).toMatchObject({ offset: 2 });
    expect(log().high).toBe(3);
    expect(log().batchesFrom(0)[0]).toMatchObject({ producerId: -1, baseSequence: -1 });
  });

  it('reports "unknown" if the deadline passes without a response, and later sends succeed', async () => {
    const { runtime, faults, send, log } = setUp({ deliveryTimeoutMs: 2_000 });
    const fault = faults.failAfter({ operation: 'produce' }, new RequestTimeoutError('lost'));
    const sent = send('a');
    await runtime.advance(3_000);
    expect(statesOf(sent.error)).toEqual(['unknown']);
    fault.lift();
    const next = send('b');
    await runtime.advance(100);
    expect([next.result?.[0]?.offset, log().high]).toEqual([1, 2]);
  });

  it('reports "not-written" if the broker refused until the deadline', async () => {
    const { runtime, faults, send, log } = setUp({ deliveryTimeoutMs: 2_000 });
    faults.refuse({ operation: 'produce', topic: 't' }, 'NOT_ENOUGH_REPLICAS');
    const sent = send('a');
    await runtime.advance(1_900);
    expect(sent.ended).toBe(false);
    await runtime.advance(200);
    expect(statesOf(sent.error)).toEqual(['not-written']);
    expect(causeOf(sent.error)).toBeInstanceOf(RequestTimeoutError);
    expect(log().high).toBe(0);
  });

  it('reports "unknown" for an error that the broker may return after a successful write', async () => {
    const { runtime, faults, send } = setUp({ deliveryTimeoutMs: 1_000 });
    faults.refuse({ operation: 'produce' }, 'NOT_ENOUGH_REPLICAS_AFTER_APPEND');
    const sent = send('a');
    await runtime.advance(2_000);
    expect(statesOf(sent.error)).toEqual(['unknown']);
  });

  it('reports "not-written" if no connection could be opened', async () => {
    const { runtime, faults, send } = setUp({ deliveryTimeoutMs: 1_000 });
    send('first');
    await runtime.settle();
    faults.unplug({ clientId: 'me' });
    const sent = send('a');
    await runtime.advance(2_000);
    expect(statesOf(sent.error)).toEqual(['not-written']);
  });

  it('keeps the order of records after a batch was sent twice', async () => {
    const { runtime, faults, send } = setUp();
    faults.refuse({ operation: 'produce' }, 'NOT_LEADER_OR_FOLLOWER', { times: 3 });
    const sends = ['a', 'b', 'c'].map((value) => send(value));
    await runtime.advance(5_000);
    expect(sends.map(({ result }) => result?.[0]?.offset)).toEqual([0, 1, 2]);
  });

  it('waits for buffer memory, and fails at the deadline if none was released', async () => {
    const { runtime, faults, producer } = setUp({ bufferBytes: 3_000, batchBytes: 1_000 });
    const fault = faults.delayRequests({ operation: 'produce' }, 60_000);
    const records = Array.from({ length: 8 }, () => ({ ...to, value: 'x'.repeat(700) }));
    const patient = sending(producer, records);
    const hasty = observe(
      producer.send([records[0] ?? to] as OutgoingRecord[], { timeoutMs: 500 }),
    );
    await runtime.advance(500);
    expect(statesOf(hasty.error)).toEqual(['not-written']);
    expect(causeOf(hasty.error)).toBeInstanceOf(BufferFullError);
    fault.lift();
    await runtime.advance(100_000);
    expect(patient.result).toHaveLength(8);
  });

  it("rejects a record above the producer's size limit before any record is sent", async () => {
    const { runtime, send, log } = setUp({ maxRequestBytes: 1_000, batchBytes: 500 });
    const sent = send('small', 'x'.repeat(2_000));
    await runtime.advance(100);
    expect(statesOf(sent.error)).toEqual(['written', 'not-written']);
    expect(causeOf(sent.error)).toBeInstanceOf(RecordTooLargeError);
    expect(log().high).toBe(1);
  });

  it.each([
    [{ value: 5 }, /its value must be/],
    [{ value: undefined }, /its value must be/],
    [{ value: 'v', key: {} }, /its key must be/],
    [{ value: 'v', partition: -1 }, /its partition must be/],
    [{ value: 'v', timestamp: 1.5 }, /its timestamp must be/],
    [{ value: 'v', headers: { a: 'b' } }, /its headers must be a list/],
    [{ value: 'v', headers: [{ key: 'a' }] }, /each header needs/],
    [{ value: 'v', topic: 'no/slash' }, /no legal topic name/],
  ])('rejects %j, and sends none of the other records', async (broken, message) => {
    const { runtime, producer, log } = setUp();
    const record = { topic: 't', ...broken } as unknown as OutgoingRecord;
    const sent = sending(producer, [{ ...to, value: 'good' }, record]);
    await runtime.advance(100);
    expect(sent.error).toBeInstanceOf(InvalidOptionError);
    expect(String(sent.error)).toMatch(message);
    expect(log().high).toBe(0);
  });

  it('keeps records without a key in one partition until a batch is full, and then switches to another one', async () => {
    const { runtime, producer, cluster } = setUp({ batchBytes: 1_000 }, 3);
    for (let index = 0; index < 60; index++) {
      sending(producer, [{ topic: 't', value: 'x'.repeat(80) }]);
      await runtime.settle();
    }
    const counts = (cluster.topics.find('t')?.partitions ?? []).map(({ log }) => log.high);
    expect(counts.reduce((sum, count) => sum + count)).toBe(60);
    expect(counts.filter((count) => count > 0).length).toBeGreaterThan(1);
  });

  it('sends waiting records when the producer closes, and reports those that cannot be sent', async () => {
    const { runtime, faults, producer, send } = setUp({ requestTimeoutMs: 3_000 });
    faults.loseRequests({ operation: 'produce' });
    const sent = send('a');
    const closed = observe(producer.close());
    await runtime.advance(3_100);
    expect(closed.ended).toBe(true);
    expect(statesOf(sent.error)).toEqual(['unknown']);
    await expect(producer.send([{ ...to, value: 'c' }])).rejects.toBeInstanceOf(ClosedError);
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe('a transaction of a memory producer', () => {
  const noMember = { groupId: 'g', memberId: '', generation: -1 };
  const transactional = (options: ProducerOptions = {}) =>
    setUp({ transactionalId: 'tx', ...options });

  it('shows its records to read_committed consumers only after the commit', async () => {
    const { runtime, producer, log } = transactional();
    const transaction = await producer.transaction();
    const sent = observe(transaction.send([{ ...to, value: 'a' }]));
    await runtime.settle();
    expect([sent.result?.[0]?.offset, log().lastStable]).toEqual([0, 0]);
    await transaction.commit();
    expect(log().lastStable).toBe(2);
    await expect(transaction.commit()).rejects.toBeInstanceOf(RefusedError);
  });

  it('can be followed by another one after its abort', async () => {
    const { producer, log } = transactional();
    const first = await producer.transaction();
    await first.send([{ ...to, value: 'a' }]);
    await first.abort();
    const second = await producer.transaction();
    await second.send([{ ...to, value: 'b' }]);
    await second.commit();
    expect(log().abortedBetween(0, 10)).toEqual([expect.objectContaining({ firstOffset: 0 })]);
    expect(log().lastStable).toBe(4);
  });

  it('cannot be committed after a failed send', async () => {
    const { runtime, faults, producer } = transactional({ deliveryTimeoutMs: 500 });
    faults.refuse({ operation: 'produce' }, 'INVALID_TIMESTAMP', { times: 1 });
    const transaction = await producer.transaction();
    const sent = observe(transaction.send([{ ...to, value: 'a' }]));
    await runtime.advance(1_000);
    expect(statesOf(sent.error)).toEqual(['not-written']);
    await expect(transaction.commit()).rejects.toThrow(/Abort it/);
    await transaction.abort();
  });

  it('can be aborted at once, even if the broker does not accept one of its records', async () => {
    const { runtime, faults, producer, log } = transactional();
    const transaction = await producer.transaction();
    await transaction.send([{ ...to, value: 'a' }]);
    faults.refuse({ operation: 'produce' }, 'NOT_ENOUGH_REPLICAS');
    const sent = observe(transaction.send([{ ...to, value: 'b' }]));
    const aborted = observe(transaction.abort());
    await runtime.advance(2_000);
    expect([statesOf(sent.error), aborted.ended, log().lastStable]).toEqual([
      ['not-written'],
      true,
      2,
    ]);
  });

  it('refuses offsets of an old generation', async () => {
    const { producer } = transactional();
    const transaction = await producer.transaction();
    const zombie = { groupId: 'g', memberId: 'zombie', generation: 4 };
    const offsets = [{ ...to, offset: 1 }];
    await expect(transaction.sendOffsets({ ...zombie, offsets })).rejects.toBeInstanceOf(
      FencedError,
    );
    await transaction.abort();
  });

  it('is committed once even if the response to the commit is lost', async () => {
    const { runtime, faults, producer, log } = transactional();
    const transaction = await producer.transaction();
    await transaction.send([{ ...to, value: 'a' }]);
    await transaction.sendOffsets({ ...noMember, offsets: [{ ...to, offset: 1 }] });
    faults.failAfter({ operation: 'end-transaction' }, new RequestTimeoutError('lost'), {
      times: 1,
    });
    const committed = observe(transaction.commit());
    await runtime.advance(1_000);
    expect([committed.ended, committed.error, log().high]).toEqual([true, undefined, 2]);
  });

  describe.each([
    ['was executed', 'failAfter', TransactionCommittedError],
    ['was not executed', 'refuse', undefined],
  ] as const)('a transaction whose commit got no response, and %s', (_, fault, error) => {
    it('is reported as unknown, and its abort finds out the outcome', async () => {
      const { runtime, faults, producer, log } = transactional({ deliveryTimeoutMs: 500 });
      const transaction = await producer.transaction();
      await transaction.send([{ ...to, value: 'a' }]);
      const lost = faults[fault]({ operation: 'end-transaction' }, new RequestTimeoutError('lost'));
      const committed = observe(transaction.commit());
      await runtime.advance(3_000);
      expect(committed.error).toBeInstanceOf(TransactionOutcomeUnknownError);
      lost.lift();
      const aborted = observe(transaction.abort());
      await runtime.advance(1_000);
      if (error) expect(aborted.error).toBeInstanceOf(error);
      else expect([aborted.ended, aborted.error]).toEqual([true, undefined]);
      expect(log().abortedBetween(0, 1)).toHaveLength(error ? 0 : 1);
      const next = await producer.transaction();
      await next.send([{ ...to, value: 'b' }]);
      await next.commit();
      expect(log().lastStable).toBe(log().high);
    });
  });

  it('is aborted again before the next one begins if its abort failed', async () => {
    const { runtime, faults, producer, log } = transactional({ deliveryTimeoutMs: 500 });
    const transaction = await producer.transaction();
    await transaction.send([{ ...to, value: 'a' }]);
    const lost = faults.refuse({ operation: 'end-transaction' }, new RequestTimeoutError('lost'));
    const aborted = observe(transaction.abort());
    await runtime.advance(3_000);
    expect(aborted.error).toBeInstanceOf(RequestTimeoutError);
    lost.lift();
    await producer.transaction();
    expect(log().abortedBetween(0, 1)).toHaveLength(1);
  });

  it("is aborted without an error after the broker's timeout, and its producer is fenced", async () => {
    const { runtime, producer, log } = transactional({ transactionTimeoutMs: 5_000 });
    const transaction = await producer.transaction();
    await transaction.send([{ ...to, value: 'a' }]);
    await runtime.advance(4_999);
    expect(log().abortedBetween(0, 1)).toHaveLength(0);
    await runtime.advance(1);
    expect(log().abortedBetween(0, 1)).toHaveLength(1);
    await transaction.abort();
    await expect(producer.transaction()).rejects.toMatchObject({
      code: 'PRODUCER_FENCED',
      brokerCode: 90,
    });
  });

  it("rejects a timeout above the broker's limit, with advice", async () => {
    const { producer } = transactional({ transactionTimeoutMs: 16 * 60_000 });
    await expect(producer.transaction()).rejects.toThrow(/transaction.max.timeout.ms/);
  });
});

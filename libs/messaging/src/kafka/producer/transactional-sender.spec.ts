import {
  ClosedError,
  ConnectionError,
  RequestTimeoutError,
  TransactionCommittedError,
  TransactionOutcomeUnknownError,
  type OutgoingRecord,
  type ProducerSession,
  type Transaction,
  type WrittenRecord,
} from '@nest-event-bus/broker';
import { Deferred, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { TransactionalSender } from './transactional-sender.js';

/** A session that does what a test says, and remembers what it was asked for. */
class ScriptedSession implements ProducerSession {
  readonly sent: OutgoingRecord[] = [];
  begun = 0;
  begin: () => Promise<void> = () => Promise.resolve();
  commit: () => Promise<void> = () => Promise.resolve();
  abort: () => Promise<void> = () => Promise.resolve();

  async transaction(): Promise<Transaction> {
    this.begun++;
    await this.begin();
    return {
      send: (records) => this.send(records),
      sendOffsets: () => Promise.resolve(),
      commit: () => this.commit(),
      abort: () => this.abort(),
    };
  }

  send(records: readonly OutgoingRecord[]): Promise<readonly WrittenRecord[]> {
    this.sent.push(...records);
    return Promise.resolve(
      records.map(({ topic }, offset) => ({ topic, partition: 0, offset, timestamp: 0 })),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

describe('The sender of records in transactions', () => {
  let runtime: VirtualRuntime;
  let session: ScriptedSession;
  let sender: TransactionalSender;

  beforeEach(() => {
    runtime = new VirtualRuntime();
    session = new ScriptedSession();
    sender = new TransactionalSender(() => session, runtime);
  });

  /** Returns the result of a record, or its error. */
  const outcomeOf = (value: string, timeoutMs = 1_000): Promise<unknown> =>
    sender.send({ topic: 'mails', value }, timeoutMs).catch((error: unknown) => error);

  it('does not write a record whose sender has stopped waiting', async () => {
    const beginning = new Deferred();
    session.begin = () => beginning.promise;
    const outcomes = [outcomeOf('first'), outcomeOf('late'), outcomeOf('patient', 60_000)];
    await runtime.advance(1_000);
    await expect(Promise.all(outcomes.slice(0, 2))).resolves.toEqual([
      expect.any(RequestTimeoutError),
      expect.any(RequestTimeoutError),
    ]);
    beginning.resolve();
    await expect(outcomes[2]).resolves.toMatchObject({ topic: 'mails' });
    expect(session.sent.map(({ value }) => value)).toEqual(['first', 'patient']);
  });

  it('fails a batch at once if its records are not to blame', async () => {
    session.begin = () => Promise.reject(new ConnectionError('The brokers are away.'));
    const outcomes = await Promise.all(['1', '2', '3', '4'].map((value) => outcomeOf(value)));
    expect(outcomes).toEqual(outcomes.map(() => expect.any(ConnectionError)));
    // The first record is alone in its batch, because nothing was under way.
    expect(session.begun).toBe(2);
  });

  it('resolves if the commit has succeeded and only its answer was lost', async () => {
    session.commit = () => Promise.reject(new TransactionOutcomeUnknownError('No answer.'));
    session.abort = () => Promise.reject(new TransactionCommittedError('It is committed.'));
    await expect(outcomeOf('1')).resolves.toMatchObject({ topic: 'mails', offset: 0 });
  });

  it('closes in a limited time, and fails what it could not write', async () => {
    session.begin = () => new Promise(() => undefined);
    const outcomes = [outcomeOf('1', 60_000), outcomeOf('2', 60_000)];
    const closing = sender.close();
    await runtime.advance(10_000);
    await closing;
    await expect(outcomes[1]).resolves.toBeInstanceOf(ClosedError);
    expect(session.sent).toEqual([]);
  });
});

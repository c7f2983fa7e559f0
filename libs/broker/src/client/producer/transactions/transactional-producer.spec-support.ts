import type { ProducerOptions, Transaction } from '../../../port/producer.js';
import type { TransactionProtocol } from '../../../wire/index.js';
import { KafkaProducer } from '../index.js';
import { loggerInto } from '../producer-under-test.spec-support.js';
import { TransactionalCluster, type ScriptedResult } from './transactional-cluster.spec-support.js';

export const record = (value: string, partition = 0) => ({ topic: 'orders', partition, value });

export const groupMember = {
  groupId: 'g',
  memberId: 'me',
  generation: 1,
  groupInstanceId: 'static',
};

export const offsets = (offset: number) => ({
  ...groupMember,
  offsets: [{ topic: 'in', partition: 0, offset }],
});

export const PROTOCOLS = ['v1', 'v2'] as const;

export function setUpTransactions(
  options: ProducerOptions = {},
  protocol: TransactionProtocol = 'v1',
) {
  const cluster = new TransactionalCluster(protocol);
  const producer = new KafkaProducer({
    cluster,
    producerId: 'p1',
    options: { transactionalId: 'tx', ...options },
    logger: loggerInto([]),
  });
  /** Advances the time, and returns the result of the promise. */
  const run = async <T>(promise: Promise<T>, ms = 5_000): Promise<T> => {
    promise.catch(() => undefined);
    await cluster.runtime.advance(ms);
    return promise;
  };
  const failing = (promise: Promise<unknown>, ms?: number): Promise<Error> =>
    run(promise, ms).then(
      () => Promise.reject(new Error('It was expected to fail, and did not.')),
      (error: Error) => error,
    );
  const begin = (): Promise<Transaction> => run(producer.transaction(), 200);
  /** Scripts the results of requests by API name, in order. The last result is repeated. */
  const script = (given: Readonly<Record<string, readonly ScriptedResult[]>>): void => {
    const met = new Map<string, number>();
    cluster.resultOf = (name) => {
      const at = met.get(name) ?? 0;
      met.set(name, at + 1);
      return given[name]?.[Math.min(at, (given[name]?.length ?? 0) - 1)] ?? { kind: 'answered' };
    };
  };
  return { cluster, producer, run, failing, begin, script };
}

export const answered: ScriptedResult = { kind: 'answered' };

export const responseLost: ScriptedResult = { kind: 'response-lost' };

export const requestLost: ScriptedResult = { kind: 'request-lost' };

export const refusedWith = (number: number): ScriptedResult => ({ kind: 'code', code: number });

import { InvalidOptionError } from './errors.js';
import { nearestName } from './nearest-name.js';
import { rejectUnknownKeys } from './option-values.js';
import { validateConsumerOptions } from './validate-consumer-options.js';
import { validateProducerOptions } from './validate-producer-options.js';

const capabilities = {
  assignors: ['range', 'sticky', 'cooperative-sticky'],
  compressions: ['none', 'gzip'],
} as const;

const consumer = (more: object = {}) =>
  validateConsumerOptions({ groupId: 'g', topics: ['orders'], ...more }, capabilities);
const producer = (options: object = {}) => validateProducerOptions(options, capabilities);

describe('validateConsumerOptions', () => {
  it('returns the default of every missing option', () => {
    expect(consumer()).toEqual({
      groupId: 'g',
      topics: ['orders'],
      assignors: ['cooperative-sticky', 'sticky', 'range'],
      offsetReset: 'earliest',
      isolation: 'read_committed',
      clientId: null,
      groupInstanceId: null,
      groupProtocol: 'classic',
      sessionTimeoutMs: 45_000,
      heartbeatIntervalMs: 10_000,
      rebalanceTimeoutMs: 30_000,
      fetch: {
        maxWaitMs: 5_000,
        minBytes: 1,
        maxBytes: 10 * 1024 * 1024,
        maxPartitionBytes: 1024 * 1024,
        checkCrc: true,
        maxInflatedBytes: 64 * 1024 * 1024,
      },
    });
  });

  it('uses a third of the session timeout as heartbeat interval if the session timeout is short', () => {
    expect(consumer({ sessionTimeoutMs: 6_000 }).heartbeatIntervalMs).toBe(2_000);
  });

  it('treats an option that is undefined as missing', () => {
    expect(consumer({ isolation: undefined, fetch: undefined }).isolation).toBe('read_committed');
  });

  it.each([
    [{ groupID: 'x' }, /no "groupID". Did you mean "groupId"/],
    [{ fromBeginning: true }, /no "fromBeginning". Known are: groupId, topics/],
    [{ groupId: '' }, /groupId must be a text that is not empty/],
    [{ topics: [] }, /at least one topic/],
    [{ topics: ['a', 'a'] }, /names "a" twice/],
    [{ topics: ['no/slash'] }, /no legal topic name/],
    [{ topics: ['..'] }, /no legal topic name/],
    [{ topics: ['x'.repeat(250)] }, /no legal topic name/],
    [{ assignors: [] }, /at least one of range, sticky, cooperative-sticky/],
    [{ assignors: ['stiky'] }, /Did you mean "sticky"/],
    [{ clientId: '' }, /clientId must be a text that is not empty/],
    [{ groupInstanceId: '' }, /groupInstanceId must be a text that is not empty/],
    [{ groupInstanceId: 'pod 1' }, /no legal group instance id/],
    [{ offsetReset: 'earlyest' }, /Did you mean "earliest"/],
    [{ isolation: 'snapshot' }, /isolation must be one of/],
    [{ sessionTimeoutMs: 0 }, /whole number of at least 1; got 0/],
    [{ sessionTimeoutMs: 1.5 }, /whole number/],
    [{ sessionTimeoutMs: Infinity }, /whole number/],
    [{ sessionTimeoutMs: 9_000, heartbeatIntervalMs: 3_001 }, /use 3000 or less/],
    [{ rebalanceTimeoutMs: -1 }, /rebalanceTimeoutMs/],
    [
      { fetch: { maxWait: 1 } },
      /consumer.fetch options have no "maxWait". Did you mean "maxWaitMs"/,
    ],
    [{ fetch: { minBytes: 10, maxBytes: 9 } }, /every fetch would wait in vain/],
    [{ fetch: { checkCrc: 'yes' } }, /checkCrc must be true or false/],
    [{ fetch: [] }, /must be an object/],
  ])('rejects %j', (more, message) => {
    expect(() => consumer(more)).toThrow(InvalidOptionError);
    expect(() => consumer(more)).toThrow(message);
  });

  it('accepts a heartbeat interval of exactly a third of the session timeout', () => {
    expect(
      consumer({ sessionTimeoutMs: 9_000, heartbeatIntervalMs: 3_000 }).heartbeatIntervalMs,
    ).toBe(3_000);
  });
});

describe('validateProducerOptions', () => {
  it('returns the default of every missing option', () => {
    expect(producer()).toEqual({
      batchBytes: 16 * 1024,
      lingerMs: 5,
      bufferBytes: 32 * 1024 * 1024,
      maxRequestBytes: 1024 * 1024,
      deliveryTimeoutMs: 120_000,
      requestTimeoutMs: 30_000,
      missingTopicTimeoutMs: 120_000,
      compression: 'none',
      idempotent: true,
      transactionTimeoutMs: 60_000,
    });
  });

  it('accepts a transactional id', () => {
    const options = { transactionalId: 'tx', transactionTimeoutMs: 1_000 };
    expect(producer(options)).toMatchObject({ ...options, idempotent: true });
  });

  it('reduces the default request timeout to the delivery timeout if that one is shorter', () => {
    expect(producer({ deliveryTimeoutMs: 1_000 }).requestTimeoutMs).toBe(1_000);
  });

  it.each([
    [{ linger: 1 }, /Did you mean "lingerMs"/],
    [{ acks: 1 }, /no "acks"/],
    [{ compression: 'zstd' }, /one of "none", "gzip"; got "zstd".*Node.js 22.15/],
    [{ compression: 'gzp' }, /got "gzp"\. Did you mean "gzip"\?$/],
    [{ bufferBytes: 10 }, /smaller than producer.batchBytes/],
    [{ requestTimeoutMs: 2, deliveryTimeoutMs: 1 }, /longer than producer.deliveryTimeoutMs/],
    [{ lingerMs: -1 }, /at least 0/],
    [{ idempotent: 'no' }, /producer.idempotent must be true or false/],
    [{ transactionalId: '' }, /producer.transactionalId must be a text that is not empty/],
    [{ transactionTimeoutMs: 5_000 }, /means nothing without producer.transactionalId/],
    [{ transactionalId: 't', transactionTimeoutMs: 0 }, /whole number of at least 1; got 0/],
    [{ transactionalId: 't', idempotent: false }, /every send is idempotent/],
  ])('rejects %j', (options, message) => {
    expect(() => producer(options)).toThrow(message);
  });
});

describe('nearestName', () => {
  it('finds the name with a typing error, but does not match a different word', () => {
    expect(nearestName('sesionTimeoutMs', ['sessionTimeoutMs', 'topics'])).toBe('sessionTimeoutMs');
    expect(nearestName('colour', ['sessionTimeoutMs', 'topics'])).toBeUndefined();
  });

  it('is suggested in the error message of rejectUnknownKeys', () => {
    expect(() => rejectUnknownKeys('memory', { brker: 1 }, ['broker', 'runtime'])).toThrow(
      'memory options have no "brker". Did you mean "broker"?',
    );
  });
});

import assert from 'node:assert/strict';
import type { ConsumerOptions } from '../../../port/consumer.js';
import { InvalidOptionError } from '../../../port/errors.js';
import type { ContractSuite } from '../../contract-suite.js';

const validConsumer = { groupId: 'group', topics: ['topic'] };

/** Options that no driver may accept, and what the error message must mention. */
const invalidConsumers: Readonly<Record<string, readonly [object, RegExp]>> = {
  'an unknown key, with a suggestion': [{ ...validConsumer, offsetRest: 'latest' }, /offsetReset/],
  'an unknown key of fetch, with a suggestion': [
    { ...validConsumer, fetch: { maxWaitMS: 5 } },
    /maxWaitMs/,
  ],
  'a heartbeat interval above a third of the session timeout': [
    { ...validConsumer, sessionTimeoutMs: 900, heartbeatIntervalMs: 400 },
    /heartbeatIntervalMs/,
  ],
  'no topics': [{ ...validConsumer, topics: [] }, /topics/],
  'a duplicate topic': [{ ...validConsumer, topics: ['a', 'a'] }, /topics/],
  'an illegal topic name': [{ ...validConsumer, topics: ['a b'] }, /topics/],
  'an empty group id': [{ ...validConsumer, groupId: '' }, /groupId/],
  'an unknown offsetReset': [{ ...validConsumer, offsetReset: 'first' }, /offsetReset/],
  'an unknown isolation': [{ ...validConsumer, isolation: 'serializable' }, /isolation/],
  'an unknown assignor': [{ ...validConsumer, assignors: ['stickyy'] }, /sticky/],
  'an unknown group protocol': [{ ...validConsumer, groupProtocol: 'share' }, /groupProtocol/],
  'no assignor': [{ ...validConsumer, assignors: [] }, /assignors/],
  'a session timeout of zero': [{ ...validConsumer, sessionTimeoutMs: 0 }, /sessionTimeoutMs/],
  'a negative rebalance timeout': [
    { ...validConsumer, rebalanceTimeoutMs: -1 },
    /rebalanceTimeoutMs/,
  ],
  'NaN as a number': [{ ...validConsumer, fetch: { maxBytes: Number.NaN } }, /maxBytes/],
  'a fraction of a byte': [
    { ...validConsumer, fetch: { maxPartitionBytes: 1.5 } },
    /maxPartitionBytes/,
  ],
  'a text for a number': [{ ...validConsumer, sessionTimeoutMs: '1000' }, /sessionTimeoutMs/],
};

const invalidProducers: Readonly<Record<string, readonly [object, RegExp]>> = {
  'an unknown key, with a suggestion': [{ lingerMS: 5 }, /lingerMs/],
  'a negative linger time': [{ lingerMs: -1 }, /lingerMs/],
  'a batch size of zero': [{ batchBytes: 0 }, /batchBytes/],
  'a buffer smaller than a batch': [{ batchBytes: 2_000, bufferBytes: 1_000 }, /bufferBytes/],
  'an unknown compression': [{ compression: 'brotli' }, /compression/],
  'an empty transactional id': [{ transactionalId: '' }, /transactionalId/],
  'a transaction timeout without a transactional id': [
    { transactionTimeoutMs: 1_000 },
    /transactionalId/,
  ],
  'transactions that are not idempotent': [
    { transactionalId: 'tx', idempotent: false },
    /idempotent/,
  ],
  'an infinite delivery timeout': [
    { deliveryTimeoutMs: Number.POSITIVE_INFINITY },
    /deliveryTimeoutMs/,
  ],
};

export function validationContract({ testCase }: ContractSuite): void {
  for (const [what, [options, mentioned]] of Object.entries(invalidConsumers))
    testCase(`a consumer rejects ${what}`, (context) => {
      assertRefused(() => context.driver.consumer(options as ConsumerOptions), mentioned);
      return Promise.resolve();
    });

  for (const [what, [options, mentioned]] of Object.entries(invalidProducers))
    testCase(`a producer rejects ${what}`, (context) => {
      assertRefused(() => context.driver.producer(options), mentioned);
      return Promise.resolve();
    });

  for (const maxRecords of [0, -1, 1.5, Number.NaN])
    testCase(`poll rejects maxRecords ${maxRecords}`, async (context) => {
      const topic = await context.topic();
      await context.write(topic, ['kept']);
      const member = await context.join({ topics: [topic] });
      await context.rejects(member.session.poll(maxRecords), InvalidOptionError);
      assert.deepEqual(await member.readValues(1), ['kept']);
    });

  for (const maxBytes of [0, -1, 1.5, Number.NaN])
    testCase(`poll rejects maxBytes ${maxBytes}`, async (context) => {
      const topic = await context.topic();
      await context.write(topic, ['kept']);
      const member = await context.join({ topics: [topic] });
      await context.rejects(member.session.poll(1, undefined, maxBytes), InvalidOptionError);
      assert.deepEqual(await member.readValues(1), ['kept']);
    });

  testCase('options are not modified', async (context) => {
    const options = Object.freeze({
      ...validConsumer,
      topics: Object.freeze([await context.topic()]),
    });
    const session = context.driver.consumer(options);
    assert.deepEqual(Object.keys(options), ['groupId', 'topics']);
    await session.close();
  });
}

function assertRefused(create: () => unknown, mentioned: RegExp): void {
  assert.throws(create, (error: unknown) => {
    assert.ok(error instanceof InvalidOptionError, `got ${String(error)}`);
    assert.deepEqual([error.code, error.retriable], ['INVALID_OPTION', false]);
    assert.match(error.message, mentioned);
    return true;
  });
}

import assert from 'node:assert/strict';
import type { ConsumerOptions } from '../../../port/consumer.js';
import { InvalidOptionError } from '../../../port/errors.js';
import type { ContractSuite } from '../../contract-suite.js';

const validConsumer = { groupId: 'group', topics: ['topic'] };

/** Options that no driver may accept, and what the message must mention. */
const invalidConsumers: Readonly<Record<string, readonly [object, RegExp]>> = {
  'an unknown key, with a suggestion': [{ ...validConsumer, offsetRest: 'latest' }, /offsetReset/],
  'an unknown key of fetch, with a suggestion': [
    { ...validConsumer, fetch: { maxWaitMS: 5 } },
    /maxWaitMs/,
  ],
  'a heartbeat of more than a third of the session': [
    { ...validConsumer, sessionTimeoutMs: 900, heartbeatIntervalMs: 400 },
    /heartbeatIntervalMs/,
  ],
  'no topics': [{ ...validConsumer, topics: [] }, /topics/],
  'a topic twice': [{ ...validConsumer, topics: ['a', 'a'] }, /topics/],
  'an illegal topic name': [{ ...validConsumer, topics: ['a b'] }, /topics/],
  'an empty group id': [{ ...validConsumer, groupId: '' }, /groupId/],
  'a policy that does not exist': [{ ...validConsumer, offsetReset: 'first' }, /offsetReset/],
  'an isolation that does not exist': [
    { ...validConsumer, isolation: 'serializable' },
    /isolation/,
  ],
  'an assignor that does not exist': [{ ...validConsumer, assignors: ['stickyy'] }, /sticky/],
  'a group protocol that does not exist': [
    { ...validConsumer, groupProtocol: 'share' },
    /groupProtocol/,
  ],
  'no assignor': [{ ...validConsumer, assignors: [] }, /assignors/],
  'a session time-out of zero': [{ ...validConsumer, sessionTimeoutMs: 0 }, /sessionTimeoutMs/],
  'a negative rebalance time-out': [
    { ...validConsumer, rebalanceTimeoutMs: -1 },
    /rebalanceTimeoutMs/,
  ],
  'a number that is none': [{ ...validConsumer, fetch: { maxBytes: Number.NaN } }, /maxBytes/],
  'a fraction of a byte': [
    { ...validConsumer, fetch: { maxPartitionBytes: 1.5 } },
    /maxPartitionBytes/,
  ],
  'a text for a number': [{ ...validConsumer, sessionTimeoutMs: '1000' }, /sessionTimeoutMs/],
};

const invalidProducers: Readonly<Record<string, readonly [object, RegExp]>> = {
  'an unknown key, with a suggestion': [{ lingerMS: 5 }, /lingerMs/],
  'a negative linger': [{ lingerMs: -1 }, /lingerMs/],
  'a batch of no bytes': [{ batchBytes: 0 }, /batchBytes/],
  'a buffer smaller than a batch': [{ batchBytes: 2_000, bufferBytes: 1_000 }, /bufferBytes/],
  'a compression that does not exist': [{ compression: 'brotli' }, /compression/],
  'an empty transactional id': [{ transactionalId: '' }, /transactionalId/],
  'a transaction time-out without a transactional id': [
    { transactionTimeoutMs: 1_000 },
    /transactionalId/,
  ],
  'transactions that are not idempotent': [
    { transactionalId: 'tx', idempotent: false },
    /idempotent/,
  ],
  'a deadline that is none': [{ deliveryTimeoutMs: Number.POSITIVE_INFINITY }, /deliveryTimeoutMs/],
};

export function validationContract({ testCase }: ContractSuite): void {
  for (const [what, [options, mentioned]] of Object.entries(invalidConsumers))
    testCase(`a consumer refuses ${what}`, (context) => {
      assertRefused(() => context.driver.consumer(options as ConsumerOptions), mentioned);
      return Promise.resolve();
    });

  for (const [what, [options, mentioned]] of Object.entries(invalidProducers))
    testCase(`a producer refuses ${what}`, (context) => {
      assertRefused(() => context.driver.producer(options), mentioned);
      return Promise.resolve();
    });

  for (const maxRecords of [0, -1, 1.5, Number.NaN])
    testCase(`a poll refuses to give ${maxRecords} records`, async (context) => {
      const topic = await context.topic();
      await context.write(topic, ['kept']);
      const member = await context.join({ topics: [topic] });
      await context.rejects(member.session.poll(maxRecords), InvalidOptionError);
      assert.deepEqual(await member.readValues(1), ['kept']);
    });

  for (const maxBytes of [0, -1, 1.5, Number.NaN])
    testCase(`a poll refuses to give ${maxBytes} bytes`, async (context) => {
      const topic = await context.topic();
      await context.write(topic, ['kept']);
      const member = await context.join({ topics: [topic] });
      await context.rejects(member.session.poll(1, undefined, maxBytes), InvalidOptionError);
      assert.deepEqual(await member.readValues(1), ['kept']);
    });

  testCase('options are not changed by using them', async (context) => {
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

import assert from 'node:assert/strict';
import type { ConsumerOptions } from '../../port/consumer.js';
import { InvalidOptionError } from '../../port/errors.js';
import type { ContractSuite } from '../suite.js';

const good = { groupId: 'group', topics: ['topic'] };

/** Options that no driver may accept, and what the message must mention. */
const badConsumers: Readonly<Record<string, readonly [object, RegExp]>> = {
  'an unknown key, with a suggestion': [{ ...good, offsetRest: 'latest' }, /offsetReset/],
  'an unknown key of fetch, with a suggestion': [{ ...good, fetch: { maxWaitMS: 5 } }, /maxWaitMs/],
  'a heartbeat of more than a third of the session': [
    { ...good, sessionTimeoutMs: 900, heartbeatIntervalMs: 400 },
    /heartbeatIntervalMs/,
  ],
  'no topics': [{ ...good, topics: [] }, /topics/],
  'a topic twice': [{ ...good, topics: ['a', 'a'] }, /topics/],
  'an illegal topic name': [{ ...good, topics: ['a b'] }, /topics/],
  'an empty group id': [{ ...good, groupId: '' }, /groupId/],
  'a policy that does not exist': [{ ...good, offsetReset: 'first' }, /offsetReset/],
  'an isolation that does not exist': [{ ...good, isolation: 'serializable' }, /isolation/],
  'an assignor that does not exist': [{ ...good, assignors: ['stickyy'] }, /sticky/],
  'a group protocol that does not exist': [{ ...good, groupProtocol: 'share' }, /groupProtocol/],
  'no assignor': [{ ...good, assignors: [] }, /assignors/],
  'a session time-out of zero': [{ ...good, sessionTimeoutMs: 0 }, /sessionTimeoutMs/],
  'a negative rebalance time-out': [{ ...good, rebalanceTimeoutMs: -1 }, /rebalanceTimeoutMs/],
  'a number that is none': [{ ...good, fetch: { maxBytes: Number.NaN } }, /maxBytes/],
  'a fraction of a byte': [{ ...good, fetch: { maxPartitionBytes: 1.5 } }, /maxPartitionBytes/],
  'a text for a number': [{ ...good, sessionTimeoutMs: '1000' }, /sessionTimeoutMs/],
};

const badProducers: Readonly<Record<string, readonly [object, RegExp]>> = {
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

export function validationContract({ promise }: ContractSuite): void {
  for (const [what, [options, mentioned]] of Object.entries(badConsumers))
    promise(`a consumer refuses ${what}`, (world) => {
      refuses(() => world.driver.consumer(options as ConsumerOptions), mentioned);
      return Promise.resolve();
    });

  for (const [what, [options, mentioned]] of Object.entries(badProducers))
    promise(`a producer refuses ${what}`, (world) => {
      refuses(() => world.driver.producer(options), mentioned);
      return Promise.resolve();
    });

  for (const maxRecords of [0, -1, 1.5, Number.NaN])
    promise(`a poll refuses to give ${maxRecords} records`, async (world) => {
      const topic = await world.topic();
      await world.write(topic, ['kept']);
      const member = await world.join({ topics: [topic] });
      await world.rejects(member.session.poll(maxRecords), InvalidOptionError);
      assert.deepEqual(await member.readValues(1), ['kept']);
    });

  for (const maxBytes of [0, -1, 1.5, Number.NaN])
    promise(`a poll refuses to give ${maxBytes} bytes`, async (world) => {
      const topic = await world.topic();
      await world.write(topic, ['kept']);
      const member = await world.join({ topics: [topic] });
      await world.rejects(member.session.poll(1, undefined, maxBytes), InvalidOptionError);
      assert.deepEqual(await member.readValues(1), ['kept']);
    });

  promise('options are not changed by using them', async (world) => {
    const options = Object.freeze({ ...good, topics: Object.freeze([await world.topic()]) });
    const session = world.driver.consumer(options);
    assert.deepEqual(Object.keys(options), ['groupId', 'topics']);
    await session.close();
  });
}

function refuses(create: () => unknown, mentioned: RegExp): void {
  assert.throws(create, (error: unknown) => {
    assert.ok(error instanceof InvalidOptionError, `got ${String(error)}`);
    assert.deepEqual([error.code, error.retriable], ['INVALID_OPTION', false]);
    assert.match(error.message, mentioned);
    return true;
  });
}

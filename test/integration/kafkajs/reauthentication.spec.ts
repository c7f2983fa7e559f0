import net from 'node:net';
import type { KafkajsOptions } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique } from '@nest-event-bus/testing';
import { describeWithCluster } from '../support/index.js';
import {
  ignore,
  customPlainProvider,
  SecuredClients,
  unsecuredToken,
  USER,
  USERS,
} from './secured-clients.js';

const SESSION_MS = 2_000;
const LONG_ENOUGH_MS = 5 * SESSION_MS;

const security = {
  users: USERS,
  listeners: {
    plain: { sasl: 'PLAIN', maxReauthMs: SESSION_MS },
    scram: { sasl: 'SCRAM-SHA-512', maxReauthMs: SESSION_MS },
    tokens: { sasl: 'OAUTHBEARER', maxReauthMs: SESSION_MS },
  },
} as const;

/** The number of calls of the token provider and of the custom provider. */
const asked = { tokens: 0, own: 0 };

const securedListeners: readonly (readonly [
  keyof typeof security.listeners,
  KafkajsOptions['sasl'],
])[] = [
  ['plain', { mechanism: 'plain', ...USER }],
  ['scram', { mechanism: 'scram-sha-512', ...USER }],
  [
    'tokens',
    {
      mechanism: 'oauthbearer',
      oauthBearerProvider: async () => {
        asked.tokens++;
        return { value: unsecuredToken() };
      },
    },
  ],
  ['plain', customPlainProvider(USER, () => void asked.own++)],
];

describeWithCluster('authentication sessions of 2 s', { security }, (cluster) => {
  const clients = new SecuredClients(cluster);
  afterEach(async () => {
    jest.restoreAllMocks();
    await clients.close();
  });

  /**
   * Sends and reads one record after the other for some time. Returns the sent and read values, and
   * the status changes.
   */
  async function workThrough(securedListener: (typeof securedListeners)[number]) {
    const [listener, sasl] = securedListener;
    const driver = clients.driver(listener, { ...(sasl ? { sasl } : {}) });
    const topic = unique('renewed');
    await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
    const consumer = driver.consumer({
      groupId: unique('readers'),
      topics: [topic],
      heartbeatIntervalMs: 200,
      sessionTimeoutMs: 3_000,
      fetch: { maxWaitMs: 700 },
    });
    await consumer.start({ onAssigned: ignore, onRevoked: ignore, onLost: ignore });
    const changes: string[] = [];
    consumer.onStatus(({ state }) => changes.push(state));
    const producer = driver.producer();
    const sent: string[] = [];
    const read: string[] = [];
    const until = realRuntime.monotonic() + LONG_ENOUGH_MS;
    while (realRuntime.monotonic() < until) {
      const value = String(sent.length);
      await producer.send([{ topic, value }]);
      sent.push(value);
      for (const record of await consumer.poll(10, AbortSignal.timeout(5_000))) {
        read.push(String(record.value));
        await consumer.commit([{ topic, partition: 0, offset: record.offset + 1 }]);
      }
      await sleep(realRuntime, 50);
    }
    await eventually(async () => {
      if (read.length < sent.length)
        for (const { value } of await consumer.poll(10)) read.push(String(value));
      return read.length >= sent.length;
    });
    return { sent, read, changes };
  }

  it('are renewed under load without an error, without lost or repeated records and on the same connection', async () => {
    const connecting = jest.spyOn(net, 'connect');
    const working = Promise.all(
      securedListeners.map((securedListener) => workThrough(securedListener)),
    );
    await sleep(realRuntime, LONG_ENOUGH_MS / 2);
    const connectedBefore = connecting.mock.calls.length;
    const askedBefore = { ...asked };
    const results = await working;
    expect(connecting).toHaveBeenCalledTimes(connectedBefore);
    // Asserts that every connection of these drivers was renewed about twice.
    expect(asked.tokens - askedBefore.tokens).toBeGreaterThan(4);
    expect(asked.own - askedBefore.own).toBeGreaterThan(4);
    for (const { sent, read, changes } of results) {
      expect(sent.length).toBeGreaterThan(20);
      expect(read).toEqual(sent);
      expect(changes).toEqual([]);
    }
  });

  it('are renewed by the next request if they expired on an idle connection', async () => {
    const driver = clients.driver('scram', { sasl: { mechanism: 'scram-sha-512', ...USER } });
    const topic = unique('idle');
    await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
    const producer = driver.producer();
    await producer.send([{ topic, value: 'before' }]);
    await sleep(realRuntime, SESSION_MS * 1.5);
    const connecting = jest.spyOn(net, 'connect');
    await producer.send([{ topic, value: 'after' }]);
    expect(connecting).not.toHaveBeenCalled();
  });
});

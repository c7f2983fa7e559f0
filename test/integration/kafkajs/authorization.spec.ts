import {
  AuthorizationError,
  type BrokerDriver,
  type ConsumerSession,
  type SendError,
} from '@nest-event-bus/broker';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique } from '@nest-event-bus/testing';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ResourcePatternTypes,
  type Admin,
} from 'kafkajs';
import { describeWithCluster } from '../support/index.js';
import { plainClient } from '../testing/plain-client.js';
import { ignore, SecuredClients, USER, USERS } from './secured-clients.js';

const security = {
  users: USERS,
  authorizer: true,
  listeners: { checked: { sasl: 'PLAIN' } },
} as const;

type Right = 'READ' | 'WRITE' | 'DESCRIBE';
type Resource = readonly ['TOPIC' | 'GROUP', string];

const EVENTUALLY = { timeoutMs: 60_000 };

describeWithCluster('cluster with ACLs', { security }, (cluster) => {
  const clients = new SecuredClients(cluster);
  let admin: Admin;
  let alice: BrokerDriver;
  let topic: string;
  let groupId: string;

  beforeAll(async () => {
    admin = plainClient(cluster().brokers).admin();
    await admin.connect();
    // Makes the cluster start its coordinators, so that the tests below do not measure their start.
    const warmUp = clients
      .unsecuredDriver()
      .consumer({ groupId: unique('first'), topics: [await createTopic()] });
    await warmUp.start({ onAssigned: ignore, onRevoked: ignore, onLost: ignore });
    await clients.close();
  });
  afterAll(() => admin.disconnect());

  beforeEach(async () => {
    topic = await createTopic();
    groupId = unique('readers');
    alice = clients.driver('checked', { sasl: { mechanism: 'plain', ...USER } });
  });
  afterEach(() => clients.close());

  async function createTopic(): Promise<string> {
    const name = unique('guarded');
    const trusted = clients.unsecuredDriver();
    await trusted.admin().createTopics([{ name, partitions: 1 }]);
    await trusted.producer().send([{ topic: name, value: 'first' }]);
    return name;
  }

  const rule = ([type, resourceName]: Resource, right: Right) => ({
    resourceType: AclResourceTypes[type],
    resourceName,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${USER.username}`,
    host: '*',
    operation: AclOperationTypes[right],
    permissionType: AclPermissionTypes.ALLOW,
  });
  const grant = (resource: Resource, right: Right): Promise<unknown> =>
    admin.createAcls({ acl: [rule(resource, right)] });
  const revoke = (resource: Resource, right: Right): Promise<unknown> =>
    admin.deleteAcls({ filters: [rule(resource, right)] });

  /** Starts a consumer, and collects the authorization errors of its status. */
  function startConsumer(): { consumer: ConsumerSession; refusals: Error[] } {
    const consumer = alice.consumer({
      groupId,
      topics: [topic],
      heartbeatIntervalMs: 200,
      sessionTimeoutMs: 3_000,
    });
    const refusals: Error[] = [];
    consumer.onStatus((status) => {
      if (status.state === 'retrying' && status.error instanceof AuthorizationError)
        refusals.push(status.error);
    });
    consumer.start({ onAssigned: ignore, onRevoked: ignore, onLost: ignore }).catch(ignore);
    return { consumer, refusals };
  }

  const firstRefusal = (refusals: readonly Error[]): Promise<Error> =>
    eventually(() => refusals[0], { ...EVENTUALLY, description: 'the refusal' });

  const nextValue = async (consumer: ConsumerSession): Promise<string> =>
    String((await consumer.poll(1, AbortSignal.timeout(20_000)))[0]?.value);

  it('reports which right on a topic is missing, and the consumer reads once the right is granted', async () => {
    await grant(['GROUP', groupId], 'READ');
    const { consumer, refusals } = startConsumer();
    expect((await firstRefusal(refusals)).message).toMatch(
      new RegExp(`"${topic}".*Grant them Read on the topic`),
    );
    expect(consumer.status.state).toBe('retrying');
    await grant(['TOPIC', topic], 'READ');
    expect(await nextValue(consumer)).toBe('first');
    expect(consumer.status.state).toBe('stable');
  });

  it('reports a missing Read right if only Describe is granted', async () => {
    await grant(['GROUP', groupId], 'READ');
    await grant(['TOPIC', topic], 'DESCRIBE');
    const { consumer, refusals } = startConsumer();
    expect((await firstRefusal(refusals)).message).toMatch(/Grant them Read on the topic/);
    await grant(['TOPIC', topic], 'READ');
    expect(await nextValue(consumer)).toBe('first');
    expect(consumer.status.state).toBe('stable');
  });

  it('gets few requests while a group right is missing, and the consumer reads once it is granted', async () => {
    await grant(['TOPIC', topic], 'READ');
    const { consumer, refusals } = startConsumer();
    expect((await firstRefusal(refusals)).message).toMatch(
      new RegExp(`"${groupId}".*Grant them Read on the group`),
    );
    await sleep(realRuntime, 1_500);
    expect(refusals).toHaveLength(1);
    await grant(['GROUP', groupId], 'READ');
    expect(await nextValue(consumer)).toBe('first');
    expect(consumer.status.state).toBe('stable');
  });

  it.each<[string, readonly Right[]]>([
    ['has no right on the topic', []],
    ['may only read the topic', ['READ']],
  ])(
    'rejects the records of a producer that %s, and accepts them once the right is granted',
    async (_name, rights) => {
      for (const right of rights) await grant(['TOPIC', topic], right);
      const producer = alice.producer();
      const send = () => producer.send([{ topic, value: 'second' }]);
      const error = await send().catch((reason: SendError) => reason);
      expect(error).toMatchObject({ code: 'SEND', retriable: false });
      expect((error as SendError).outcomes).toMatchObject([
        { state: 'not-written', error: { code: 'AUTHORIZATION' } },
      ]);
      await grant(['TOPIC', topic], 'WRITE');
      expect(await send()).toMatchObject([{ offset: 1 }]);
    },
  );

  it.each<[string, () => Resource]>([
    ['group', () => ['GROUP', groupId]],
    ['topic', () => ['TOPIC', topic]],
  ])(
    'loses no record of a running consumer if its right to the %s is revoked and granted again',
    async (_name, resource) => {
      await grant(['GROUP', groupId], 'READ');
      await grant(['TOPIC', topic], 'READ');
      const { consumer, refusals } = startConsumer();
      expect(await nextValue(consumer)).toBe('first');
      await revoke(resource(), 'READ');
      const committing = consumer.commit([{ topic, partition: 0, offset: 1 }]);
      await expect(committing).rejects.toMatchObject({
        code: 'COMMIT_REFUSED',
        cause: { code: 'AUTHORIZATION' },
      });
      await clients
        .unsecuredDriver()
        .producer()
        .send([{ topic, value: 'second' }]);
      await firstRefusal(refusals);
      await grant(resource(), 'READ');
      const values: string[] = [];
      await eventually(
        async () => values.push(await nextValue(consumer)) && values.at(-1) === 'second',
        EVENTUALLY,
      );
      await consumer.commit([{ topic, partition: 0, offset: 2 }]);
      await eventually(() => consumer.status.state === 'stable', EVENTUALLY);
    },
  );
});

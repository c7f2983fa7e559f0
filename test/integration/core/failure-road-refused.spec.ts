import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ResourcePatternTypes,
} from 'kafkajs';
import { describeWithCluster } from '../support/index.js';
import { plainClient } from '../testing/plain-client.js';
import {
  dlt,
  expectDeadLettered,
  expectHeld,
  expectRecovered,
  failBad,
  once,
} from './held-partition.js';
import { OrdersStage, type Properties } from './orders-stage.js';

const USER = { username: 'shop', password: 'the-shop-keeps-a-secret' };
const security = {
  users: { [USER.username]: USER.password },
  authorizer: true,
  listeners: { checked: { sasl: 'PLAIN' } },
} as const;

const tier = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 200, maxAttempts: 1 }] };

describeWithCluster('a topic that the application may not write to', { security }, (cluster) => {
  let stage: OrdersStage;
  let admin: ReturnType<ReturnType<typeof plainClient>['admin']>;
  const grant = (type: 'TOPIC' | 'GROUP', resourceName: string, right: 'READ' | 'WRITE') =>
    admin.createAcls({
      acl: [
        {
          resourceType: AclResourceTypes[type],
          resourceName,
          resourcePatternType: ResourcePatternTypes.LITERAL,
          principal: `User:${USER.username}`,
          host: '*',
          operation: AclOperationTypes[right],
          permissionType: AclPermissionTypes.ALLOW,
        },
      ],
    });
  const start = (properties: Properties) => {
    const brokers = cluster().securedBrokers['checked'] ?? [];
    const access = { brokers, sasl: { mechanism: 'plain', ...USER } } as const;
    return stage.start({ dlt, ...properties }, { clusters: { default: access } });
  };

  beforeEach(async () => {
    stage = new OrdersStage(cluster().brokers);
    stage.handle = failBad;
    admin = plainClient(cluster().brokers).admin();
    await admin.connect();
    await stage.createTopics({ tiers: 1 });
    for (const [topic, group] of [
      [stage.topic, stage.groupId],
      [stage.retryTopic(1), `${stage.groupId}.retry-1`],
    ] as const) {
      await grant('TOPIC', topic, 'READ');
      await grant('GROUP', group, 'READ');
    }
  });
  afterEach(async () => {
    await stage.end();
    await admin.disconnect();
  });

  it('that is for dead letters holds the partition until the right is granted', async () => {
    const application = await start({ retry: once });
    await stage.write('"bad"', '"good"');
    await expectHeld(stage, application, stage.deadLetterTopic);
    expect(stage.health(application).reasons.join()).toMatch(/credentials do not allow/);
    await grant('TOPIC', stage.deadLetterTopic, 'WRITE');
    await expectDeadLettered(stage, application);
  }, 40_000);

  it('that is for retries holds the partition until the right is granted', async () => {
    await grant('TOPIC', stage.deadLetterTopic, 'WRITE');
    const application = await start({ retry: tier });
    await stage.write('"bad"', '"good"');
    await expectHeld(stage, application, stage.retryTopic(1));
    await grant('TOPIC', stage.retryTopic(1), 'WRITE');
    await expectRecovered(stage, application);
    await stage.until('the dead letter', async () => (await stage.letters()).length === 1);
    expect(await stage.letters()).toMatchObject([{ totalAttempts: 2 }]);
  }, 40_000);
});

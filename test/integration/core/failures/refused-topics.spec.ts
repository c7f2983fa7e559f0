import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ResourcePatternTypes,
} from 'kafkajs';
import { describeWithCluster } from '../../support/index.js';
import { plainClient } from '../../testing/plain-client.js';
import {
  dlt,
  expectDeadLettered,
  expectPaused,
  expectRecovered,
  failBad,
  once,
} from '../support/expect-paused-partition.js';
import { OrdersTestBus, type Properties } from '../support/orders-test-bus.js';

const USER = { username: 'shop', password: 'the-shop-keeps-a-secret' };
const security = {
  users: { [USER.username]: USER.password },
  authorizer: true,
  listeners: { checked: { sasl: 'PLAIN' } },
} as const;

const tier = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 200, maxAttempts: 1 }] };

describeWithCluster(
  'A failed record whose next topic is not authorized',
  { security },
  (cluster) => {
    let testBus: OrdersTestBus;
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
      return testBus.start({ dlt, ...properties }, { clusters: { default: access } });
    };

    beforeEach(async () => {
      testBus = new OrdersTestBus(cluster().brokers);
      testBus.handle = failBad;
      admin = plainClient(cluster().brokers).admin();
      await admin.connect();
      await testBus.createTopics({ tiers: 1 });
      for (const [topic, group] of [
        [testBus.topic, testBus.groupId],
        [testBus.retryTopic(1), `${testBus.groupId}.retry-1`],
      ] as const) {
        await grant('TOPIC', topic, 'READ');
        await grant('GROUP', group, 'READ');
      }
    });
    afterEach(async () => {
      await testBus.end();
      await admin.disconnect();
    });

    it('pauses its partition until the application is authorized to write to the dead-letter topic', async () => {
      const application = await start({ retry: once });
      await testBus.write('"bad"', '"good"');
      await expectPaused(testBus, application, testBus.deadLetterTopic);
      expect(testBus.health(application).reasons.join()).toMatch(/credentials do not allow/);
      await grant('TOPIC', testBus.deadLetterTopic, 'WRITE');
      await expectDeadLettered(testBus, application);
    }, 180_000);

    it('pauses its partition until the application is authorized to write to the retry topic', async () => {
      await grant('TOPIC', testBus.deadLetterTopic, 'WRITE');
      const application = await start({ retry: tier });
      await testBus.write('"bad"', '"good"');
      await expectPaused(testBus, application, testBus.retryTopic(1));
      await grant('TOPIC', testBus.retryTopic(1), 'WRITE');
      await expectRecovered(testBus, application);
      await testBus.until('the dead letter', async () => (await testBus.letters()).length === 1);
      expect(await testBus.letters()).toMatchObject([{ totalAttempts: 2 }]);
    }, 180_000);
  },
);

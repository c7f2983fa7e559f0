import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ResourcePatternTypes,
} from 'kafkajs';
import { describeWithCluster } from '../support/index.js';
import { plainClient } from '../testing/plain-client.js';
import { dlt, expectDeadLettered, expectHeld, failBad, once } from './held-partition.js';
import { OrdersStage } from './orders-stage.js';

const USER = { username: 'shop', password: 'the-shop-keeps-a-secret' };
const security = {
  users: { [USER.username]: USER.password },
  authorizer: true,
  listeners: { checked: { sasl: 'PLAIN' } },
} as const;

describeWithCluster(
  'a dead-letter topic that the application may not write to',
  { security },
  (cluster) => {
    it('holds the partition until the right is granted', async () => {
      const stage = new OrdersStage(cluster().brokers);
      const admin = plainClient(cluster().brokers).admin();
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
      try {
        await admin.connect();
        stage.handle = failBad;
        await stage.createTopics();
        await grant('TOPIC', stage.topic, 'READ');
        await grant('GROUP', stage.groupId, 'READ');
        const brokers = cluster().securedBrokers['checked'] ?? [];
        const access = { brokers, sasl: { mechanism: 'plain', ...USER } } as const;
        const application = await stage.start(
          { retry: once, dlt },
          { clusters: { default: access } },
        );
        await stage.write('"bad"', '"good"');
        await expectHeld(stage, application, stage.deadLetterTopic);
        expect(stage.health(application).reasons.join()).toMatch(/credentials do not allow/);
        await grant('TOPIC', stage.deadLetterTopic, 'WRITE');
        await expectDeadLettered(stage, application);
      } finally {
        await stage.end();
        await admin.disconnect();
      }
    }, 40_000);
  },
);

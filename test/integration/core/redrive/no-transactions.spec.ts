import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ResourcePatternTypes,
} from 'kafkajs';
import { describeWithCluster } from '../../support/index.js';
import { plainClient } from '../../testing/plain-client.js';
import { RedrivenOrders } from '../support/redriven-orders.js';

const USER = { username: 'shop', password: 'the-shop-keeps-a-secret' };
const security = {
  users: { [USER.username]: USER.password },
  authorizer: true,
  listeners: { checked: { sasl: 'PLAIN' } },
} as const;
const LETTERS = 1_000;

describeWithCluster('A redrive without the right to transactions', { security }, (cluster) => {
  let orders: RedrivenOrders;

  /** Grants everything on all resources of a kind. */
  async function grant(kind: 'TOPIC' | 'GROUP' | 'TRANSACTIONAL_ID'): Promise<void> {
    const admin = plainClient(cluster().brokers).admin();
    await admin.connect();
    await admin.createAcls({
      acl: [
        {
          resourceType: AclResourceTypes[kind],
          resourceName: '*',
          resourcePatternType: ResourcePatternTypes.LITERAL,
          principal: `User:${USER.username}`,
          host: '*',
          operation: AclOperationTypes.ALL,
          permissionType: AclPermissionTypes.ALLOW,
        },
      ],
    });
    await admin.disconnect();
  }

  afterEach(() => orders.end());

  it('replays at least once and says so, and exactly once as soon as the right is granted', async () => {
    orders = new RedrivenOrders(cluster().brokers, 2);
    await orders.prepare(LETTERS);
    await grant('TOPIC');
    await grant('GROUP');
    const brokers = cluster().securedBrokers['checked'] ?? [];
    const access = { brokers, sasl: { mechanism: 'plain', ...USER } } as const;
    const replay = await orders.replayService({}, { clusters: { default: access } });
    const where = { exceptionClass: 'OutOfStock' };
    // Brokers learn of a right a little later than it is granted.
    await orders.until('a plan that the rights allow', () =>
      replay.plan('orders', { limit: 1 }).then(
        () => true,
        () => false,
      ),
    );
    const plan = await replay.plan('orders', { where });
    expect(plan).toMatchObject({ selected: LETTERS / 2, delivery: 'at-least-once' });
    expect(await replay.run('orders', plan.id)).toMatchObject({
      state: 'completed',
      delivery: 'at-least-once',
      replayed: LETTERS / 2,
    });
    const even = Array.from({ length: LETTERS / 2 }, (_, index) => index * 2);
    expect(await orders.valuesSeenByJava()).toEqual(even);
    await grant('TRANSACTIONAL_ID');
    await orders.until('a plan that is exactly once', async () => {
      const { delivery } = await replay.plan('orders', { limit: 1 });
      return delivery === 'exactly-once';
    });
    const rest = await replay.replay('orders', { all: true });
    expect(rest).toMatchObject({ delivery: 'exactly-once', replayed: LETTERS / 2 });
    expect(await orders.valuesSeenByJava()).toEqual(
      Array.from({ length: LETTERS }, (_, index) => index),
    );
  }, 180_000);
});

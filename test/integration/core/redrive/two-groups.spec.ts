import { DltReplayService } from '@nest-event-bus/core';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

describeWithKafka('A redrive of a topic with two groups', ({ brokers }) => {
  it('is handled by the group that had failed, and passed by the other', async () => {
    const bus = new OrdersTestBus(brokers);
    const billing = `${bus.groupId}-billing`;
    let isCured = false;
    bus.handle = ({ value }, { groupId }) => {
      if (groupId === bus.groupId && !isCured && value === 2)
        throw new Error('the warehouse does not answer');
    };
    const properties = {
      retry: { tier0: { maxAttempts: 1 }, tiers: [] },
      provisioning: 'create',
    } as const;
    await bus.createTopics();
    const application = await bus.start(properties);
    await bus.start({ ...properties, groupId: billing });
    await bus.write('1', '2', '3');
    await bus.until('the dead letter', async () => (await bus.letters()).length === 1);
    isCured = true;
    const report = await application.get(DltReplayService).replay('orders', { all: true });
    expect(report).toMatchObject({ state: 'completed', replayed: 1 });
    await bus.write('4');
    const valuesOf = (group: string): readonly unknown[] =>
      bus.calls.filter(({ groupId }) => groupId === group).map(({ value }) => value);
    await bus.until('both groups to handle the last order', () =>
      [bus.groupId, billing].every((group) => valuesOf(group).includes(4)),
    );
    expect(valuesOf(bus.groupId)).toEqual([1, 2, 3, 2, 4]);
    expect(valuesOf(billing)).toEqual([1, 2, 3, 4]);
    await bus.end();
  }, 180_000);
});

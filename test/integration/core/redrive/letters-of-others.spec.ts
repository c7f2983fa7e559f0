import { describeWithKafka } from '../../support/index.js';
import { plainLetter, springLetter, type ForeignLetter } from '../support/foreign-letters.js';
import { RedrivenOrders } from '../support/redriven-orders.js';

describeWithKafka('Dead letters that another service has written', ({ brokers }) => {
  let orders: RedrivenOrders;

  const letter = (value: number, more: Partial<ForeignLetter> = {}): ForeignLetter => ({
    ...{ deadLetterTopic: orders.deadLetterTopic, topic: orders.topic, groupId: orders.groupId },
    ...{ value: String(value), exceptionClass: 'com.shop.orders.OutOfStock', line: 41, ...more },
  });

  beforeEach(async () => {
    orders = new RedrivenOrders(brokers, 1);
    await orders.prepare(0);
  }, 120_000);

  afterEach(() => orders.end());

  it('with the headers of Spring are read, grouped by cause and replayed', async () => {
    await orders.send([
      springLetter(letter(1)),
      springLetter(letter(2, { line: 57 })),
      springLetter(letter(3, { groupId: 'another-service' })),
    ]);
    const replay = await orders.replayService();
    const { letters } = await replay.list('orders');
    expect(letters).toHaveLength(2);
    expect(letters[0]?.letter).toMatchObject({
      originalTopic: orders.topic,
      originalPartition: 0,
      originalOffset: 4_712n,
      originalTimestamp: 1_700_000_000_000,
      groupId: orders.groupId,
    });
    const plan = await replay.plan('orders', { all: true });
    expect(plan).toMatchObject({
      selected: 2,
      skipped: { 'other-binding': 1 },
      groupCount: 1,
      groups: [{ count: 2 }],
    });
    const report = await replay.replay('orders', { where: { group: plan.groups[0]!.id } });
    expect(report).toMatchObject({ state: 'completed', replayed: 2 });
    expect(await orders.valuesSeenByJava()).toEqual([1, 2]);
    expect(await orders.positionsSeenByJava()).toEqual(['0/4712', '0/4713']);
    expect(await orders.headerNames(orders.topic)).toEqual(
      expect.arrayContaining(['tenant', 'x-eventbus-replay-count']),
    );
    // A replayed record with them would look like a dead letter to Spring.
    expect((await orders.headerNames(orders.topic)).join()).not.toContain('kafka_dlt-');
  }, 240_000);

  it('with the plain headers are read and replayed', async () => {
    await orders.send([plainLetter(letter(1)), plainLetter(letter(2))]);
    const replay = await orders.replayService();
    const where = { exceptionClass: { prefix: 'com.shop.orders.' } };
    const report = await replay.replay('orders', { where });
    expect(report).toMatchObject({ state: 'completed', selected: 2, replayed: 2 });
    expect(await orders.valuesSeenByJava()).toEqual([1, 2]);
    expect((await orders.headerNames(orders.topic)).join()).not.toContain('exception-class');
  }, 240_000);
});

import { headerText } from '../../src/model/records/header-text.js';
import { TestBus } from './test-bus.spec-support.js';

/** Creates a test bus with the topics of a binding `orders`, of two partitions each. */
export async function createOrdersTestBus(): Promise<TestBus> {
  const testBus = new TestBus();
  const retryTopics = [1, 2, 3].map((tier) => `orders.retry-${tier}`);
  for (const topic of ['orders', ...retryTopics, 'orders.DLT']) await testBus.topic(topic, 2);
  return testBus;
}

/** Value and cause of each dead letter. */
export async function deadLettersOf(testBus: TestBus) {
  return (await testBus.records('orders.DLT')).map(({ value, headers }) => [
    value?.toString() ?? null,
    headerText(headers, 'x-eventbus-dlt-cause'),
  ]);
}

import { describeWithKafka } from '../support/index.js';
import { createTopic, plainClient, readAll, write } from './plain-client.js';

describeWithKafka('The broker that all suites share', (kafka) => {
  it('returns the record that was written', async () => {
    const client = plainClient(kafka.brokers);
    const topic = await createTopic(client);
    await write(client, topic, 'an order');
    await expect(readAll(client, topic, 1)).resolves.toEqual(['an order']);
  });

  it('provides names that no other test uses', () => {
    expect(kafka.unique('orders')).toMatch(/^orders-[0-9a-f]{12}$/);
    expect(kafka.unique('orders')).not.toBe(kafka.unique('orders'));
  });
});

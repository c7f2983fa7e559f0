import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithKafka } from '../support/index.js';
import { Child } from './children/child-process.js';

describeWithKafka('a process whose event bus is configured wrongly', (kafka) => {
  const driver = kafkajs({ brokers: kafka.brokers });
  afterAll(() => driver.close());

  it.each(['context', 'server'])(
    'ends with a code and everything that is wrong, and reads nothing (%s)',
    async (how) => {
      const groupId = kafka.unique('shop');
      const script = join(__dirname, 'children/wrong-options.ts');
      const child = new Child(script, { args: [how, kafka.brokers.join(), groupId] });
      try {
        expect(await child.ended).toBeGreaterThan(0);
      } finally {
        child.kill();
      }
      expect(child.stdout).not.toContain('started');
      expect(child.stderr).toContain('3 things are wrong in the configuration of the event bus');
      expect(child.stderr).toContain("bindings.orders.concurency: there is no option 'concurency'");
      expect(child.stderr).toContain('bindings.payments.ackMode:');
      expect(child.stderr).toContain('Handlers.handle in App (orders).sessionTimeoutMs:');
      const groups = await driver.admin().groups();
      expect(groups.map((group) => group.groupId)).not.toContain(groupId);
    },
    20_000,
  );
});

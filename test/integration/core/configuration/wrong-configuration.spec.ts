import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithKafka } from '../../support/index.js';
import { Child } from '../support/children/child-process.js';

describeWithKafka('A process with a wrong configuration', (kafka) => {
  const driver = kafkajs({ brokers: kafka.brokers });
  afterAll(() => driver.close());

  it.each(['context', 'server'])(
    'ends with an exit code and a list of all mistakes, and reads nothing (%s)',
    async (how) => {
      const groupId = kafka.unique('shop');
      const script = join(__dirname, '../support/children/wrong-options.ts');
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

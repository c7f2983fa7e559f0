import type { GroupProtocol } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique } from '@nest-event-bus/testing';
import { describeWithCluster } from '../support/index.js';
import { DriverMember } from './driver-member.js';

jest.setTimeout(180_000);

const SESSION_MS = 12_000;
/**
 * Longest time from the return of the broker to the next record. A member that waits for its own
 * old membership to expire takes a whole session timeout.
 */
const RETURN_BOUND_MS = 10_000;

describeWithCluster(
  'A member whose session was lost during an outage of its only broker',
  {
    settings: {
      'group.consumer.session.timeout.ms': String(SESSION_MS),
      'group.consumer.heartbeat.interval.ms': '1000',
      'group.consumer.min.heartbeat.interval.ms': '1000',
    },
  },
  (cluster) => {
    const outages = {
      'was killed and restarted': {
        begin: () => cluster().kill(0),
        end: () => cluster().restart(0),
      },
      'was frozen and thawed': {
        begin: async () => cluster().freeze(0),
        end: async () => cluster().thaw(0),
      },
    };

    it.each([
      ['classic', 'dynamic', 'was killed and restarted'],
      ['consumer', 'dynamic', 'was killed and restarted'],
      ['consumer', 'static', 'was killed and restarted'],
      ['consumer', 'dynamic', 'was frozen and thawed'],
    ] as const)(
      'reads again soon (protocol %s, %s member) after the broker %s',
      async (groupProtocol: GroupProtocol, kind, outage) => {
        const { brokers } = cluster();
        const [topic, groupId] = [unique('outage'), unique('group')];
        const driver = kafkajs({ brokers });
        await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
        const producer = driver.producer({ lingerMs: 0 });
        const member = new DriverMember({
          brokers,
          groupId,
          topic,
          groupProtocol,
          ...(kind === 'static' ? { groupInstanceId: 'pod-1' } : {}),
        });
        await member.start();
        await producer.send([{ topic, partition: 0, value: 'before' }]);
        await eventually(() => member.records.length === 1, { timeoutMs: 60_000 });
        // The broker session timeout must be known before the outage.
        await sleep(realRuntime, 1_500);
        await outages[outage].begin();
        await eventually(() => member.calls.includes('lost 0'), {
          description: 'the loss',
          timeoutMs: 60_000,
        });
        await outages[outage].end();
        const backAt = realRuntime.monotonic();
        await producer.send([{ topic, partition: 0, value: 'after' }]);
        await eventually(() => member.records.includes('0:1'), {
          description: 'the next record',
          timeoutMs: 60_000,
        });
        const ms = Math.round(realRuntime.monotonic() - backAt);
        process.stderr.write(
          `Lost session (${groupProtocol}, ${kind}), broker ${outage}: read again after ${ms} ms\n`,
        );
        await Promise.all([member.close(), driver.close()]);
        expect(ms).toBeLessThan(RETURN_BOUND_MS);
      },
    );
  },
);

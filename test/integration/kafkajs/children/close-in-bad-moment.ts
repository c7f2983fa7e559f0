import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { TcpProxy } from '@nest-event-bus/testing';

/**
 * Starts work that is still under way when the driver closes. The process then has to exit by
 * itself.
 */
const { brokers, topic, moment, afterMs } = JSON.parse(process.argv[2] ?? '{}') as {
  brokers: readonly string[];
  topic: string;
  moment: 'honest' | 'swallowed' | 'crowd';
  afterMs: number;
};
const CROWD = 100;
const nobody = { onAssigned() {}, onRevoked() {}, onLost() {} };
const expected = (): void => undefined;

// The proxy replaces the bootstrap address only. The broker returns its own address to clients that
// reach it.
const proxy = await TcpProxy.listen({ target: brokers[0] ?? '' });
if (moment === 'swallowed') proxy.swallow('toClient');
const driver = kafkajs({ brokers: moment === 'swallowed' ? proxy.address : brokers });
for (let index = 0; index < (moment === 'crowd' ? CROWD : 1); index++) {
  driver
    .consumer({ groupId: `${topic}-${afterMs}-${index}`, topics: [topic] })
    .start(nobody)
    .catch(expected);
  driver
    .producer({ deliveryTimeoutMs: 300, requestTimeoutMs: 200 })
    .send([{ topic, value: 'x' }])
    .catch(expected);
  driver.admin().topics().catch(expected);
}
await sleep(realRuntime, afterMs);
await driver.close();
await proxy.close();
process.stdout.write('closed\n');

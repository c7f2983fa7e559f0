import { brokerContract } from '@nest-event-bus/broker/contract';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithKafka } from '../support/index.js';
import { KafkaContractBroker, abilitiesOn } from './kafka-contract-broker.js';

jest.setTimeout(180_000);

describeWithKafka('a real Kafka', ({ brokers }) =>
  brokerContract(
    { describe, it, afterAll },
    {
      name: 'kafkajs',
      capabilities: kafkajs({ brokers }).capabilities,
      abilities: abilitiesOn(brokers),
      // A process that is not scheduled for this long loses its membership, and then its commits are
      // refused. Some cases wait for several session timeouts.
      times: { sessionTimeoutMs: 4_000, heartbeatIntervalMs: 300, patienceMs: 60_000 },
      parallel: 8,
      open: () => new KafkaContractBroker(brokers),
    },
  ),
);

import { brokerContract } from '@nest-event-bus/broker/contract';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithKafka } from '../support/index.js';
import { KafkaContractBroker, abilitiesOn } from './kafka-contract-broker.js';

jest.setTimeout(60_000);

describeWithKafka('a real Kafka', ({ brokers }) =>
  brokerContract(
    { describe, it, afterAll },
    {
      name: 'kafkajs',
      capabilities: kafkajs({ brokers }).capabilities,
      abilities: abilitiesOn(brokers),
      // Long enough that a busy machine does not cause session timeouts.
      times: { sessionTimeoutMs: 1_500, heartbeatIntervalMs: 300 },
      parallel: 8,
      open: () => new KafkaContractBroker(brokers),
    },
  ),
);

import { brokerContract } from '@nest-event-bus/broker/contract';
import { memory } from '@nest-event-bus/broker/memory';
import { MemoryContractBroker } from './memory-contract-broker.js';

brokerContract(
  { describe, it, afterAll },
  {
    name: 'memory',
    capabilities: memory().capabilities,
    abilities: [
      'openTransaction',
      'unplug',
      'loseAnswers',
      'delayAnswers',
      'refuseWrites',
      'expelMember',
      'loseCoordinator',
    ],
    open: () => new MemoryContractBroker(),
  },
);

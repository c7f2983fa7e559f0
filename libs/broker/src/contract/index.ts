export { brokerContract } from './broker-contract.js';
export type {
  ContractAbilities,
  ContractAbility,
  ContractBroker,
  ContractFixture,
  ContractTimes,
  ContractTransaction,
  Undo,
} from './fixture.js';
export type { TestFramework, TestRegistration } from './test-framework.js';

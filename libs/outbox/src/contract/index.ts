export type {
  StoreContractDatabase,
  StoreContractFixture,
  StoreContractTransaction,
  TestFramework,
} from './fixture.js';
export { storeContract } from './store-contract.js';

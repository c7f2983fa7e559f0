export { TransactionManager } from './transaction-manager.js';

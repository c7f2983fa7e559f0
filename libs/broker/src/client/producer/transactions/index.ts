export { Transactions } from './transactions.js';

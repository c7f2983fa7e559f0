import type { FaultRule } from '../fault.js';
import { databaseRules } from './database-rules.js';
import { httpRules } from './http-rules.js';
import { mysqlRules } from './mysql-rules.js';
import { networkRules } from './network-rules.js';
import { ownRules } from './own-rules.js';
import { postgresRules } from './postgres-rules.js';
import { redisRules } from './redis-rules.js';
import { validationRules } from './validation-rules.js';

/**
 * Rules in the order in which they are checked. The library's own errors come first, because their
 * class already says whether the message or a dependency is at fault.
 */
export const FAULT_RULES: readonly FaultRule[] = Object.freeze([
  ...ownRules,
  ...validationRules,
  ...httpRules,
  ...networkRules,
  ...postgresRules,
  ...mysqlRules,
  ...databaseRules,
  ...redisRules,
]);

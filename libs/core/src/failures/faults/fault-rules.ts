import type { FaultRule } from './fault.js';
import { databaseRules } from './rules/database-rules.js';
import { httpRules } from './rules/http-rules.js';
import { mysqlRules } from './rules/mysql-rules.js';
import { networkRules } from './rules/network-rules.js';
import { ownRules } from './rules/own-rules.js';
import { postgresRules } from './rules/postgres-rules.js';
import { redisRules } from './rules/redis-rules.js';
import { validationRules } from './rules/validation-rules.js';

/** Rules in the order in which they are checked. The library's own errors come first, because they are explicit. */
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

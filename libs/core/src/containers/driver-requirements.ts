import type { BrokerDriver } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import { below, Violations } from '../config/validation/violations.js';
import type { ConfigurationViolation } from '../errors/configuration-validation-exception.js';

/** A binding with its driver, for rules that need both. */
export interface BindingWithDriver {
  readonly binding: ResolvedBinding;
  readonly driver: Pick<BrokerDriver, 'name' | 'capabilities'>;
}

type Rule = readonly [
  rule: string,
  key: string,
  value: (binding: ResolvedBinding) => unknown,
  /** Returns the message of a violation; undefined if the rule is satisfied. */
  complaint: (assembly: BindingWithDriver) => string | undefined,
];

const RULES: readonly Rule[] = [
  [
    'CLUSTER',
    'cluster',
    ({ cluster }) => cluster,
    // `bindingKey` joins cluster and name by a colon: binding `b:c` on cluster `a` and binding `c` on
    // cluster `a:b` would share a key.
    ({ binding: { cluster } }) =>
      cluster.includes(':')
        ? `a cluster's name has no ":" in it; call '${cluster}' something else.`
        : undefined,
  ],
  [
    'CONSUMERS_UNSUPPORTED',
    'cluster',
    ({ cluster }) => cluster,
    ({ binding: { cluster }, driver: { name, capabilities } }) =>
      capabilities.consumers === false
        ? `the driver '${name}' of cluster '${cluster}' only sends. Move the handlers to another cluster.`
        : undefined,
  ],
  [
    'TRANSACTIONS_UNSUPPORTED',
    'transactions.enabled',
    ({ transactions }) => transactions.enabled,
    ({ binding: { cluster, transactions }, driver: { name, capabilities } }) =>
      transactions.enabled && !capabilities.transactions
        ? `the driver '${name}' of cluster '${cluster}' has no transactions. Use another one, or set it to false.`
        : undefined,
  ],
];

export function driverRequirementViolations(
  assembly: BindingWithDriver,
): readonly ConfigurationViolation[] {
  const { binding } = assembly;
  const violations = new Violations(binding.name);
  for (const [rule, key, value, complaint] of RULES) {
    const message = complaint(assembly);
    if (message === undefined) continue;
    violations.add(rule, below(below('bindings', binding.name), key), value(binding), message);
  }
  return violations.all;
}

import type { ConfigurationViolation } from '../../errors/configuration-validation-exception.js';
import type { Layer } from '../reading/merge-layers.js';
import { PRESETS } from '../reading/presets.js';
import type { ResolvedBinding } from '../resolving/resolved-binding.js';
import type { RuleSubject } from './rules/binding-rule.js';
import { exceptionRoutingRules } from './rules/exception-routing-rules.js';
import { idempotencyRules } from './rules/idempotency-rules.js';
import { formatRules } from './rules/format-rules.js';
import { processingRules } from './rules/processing-rules.js';
import { retryRules } from './rules/retry-rules.js';
import { timingRules } from './rules/timing-rules.js';
import { topicRules } from './rules/topic-rules.js';
import { transactionRules } from './rules/transaction-rules.js';
import { formatValue } from '../reading/format-value.js';
import { staticMemberId } from '../resolving/static-member-id.js';
import { below, Violations } from './violations.js';

const RULES = [
  ...timingRules,
  ...retryRules,
  ...formatRules,
  ...processingRules,
  ...exceptionRoutingRules,
  ...topicRules,
  ...idempotencyRules,
  ...transactionRules,
];

export interface ValidatorOptions {
  /** True if there is a lifecycle manager, which a circuit breaker needs to pause a binding. Default true. */
  readonly lifecycleManager?: boolean;
}

/** Origin of the values of a binding, if known. It improves the messages. */
export interface BindingOrigin {
  /** Returns true for keys with invalid values. Rules that read such a key are skipped. */
  readonly isBroken?: (key: string) => boolean;
  readonly origins?: ReadonlyMap<string, Layer>;
}

/**
 * Checks the rules between the keys of a binding, and between bindings. Collects all violations
 * instead of stopping at the first.
 */
export class ConfigurationValidator {
  constructor(private readonly options: ValidatorOptions = {}) {}

  /** Throws a ConfigurationValidationException that lists all violations. */
  validate(binding: ResolvedBinding, others: readonly ResolvedBinding[] = []): void {
    const violations = new Violations();
    violations.include(this.violationsOf(binding));
    violations.include(this.clashes(binding, others));
    violations.throwIfAny();
  }

  violationsOf(
    binding: ResolvedBinding,
    { isBroken = () => false, origins }: BindingOrigin = {},
  ): readonly ConfigurationViolation[] {
    const violations = new Violations(binding.name);
    const subject = this.#subject(binding, origins);
    for (const { rule, reads, check } of RULES) {
      if (reads.some(isBroken)) continue;
      for (const { key, value, message } of check(subject)) {
        violations.add(rule, below(pathOf(binding.name), key), value, message);
      }
    }
    return violations.all;
  }

  /**
   * Finds conflicts with other bindings. Two bindings that read the same topic in the same group would
   * each get a part of its records. Static members of a group with the same id fence each other.
   */
  clashes(
    binding: ResolvedBinding,
    others: readonly ResolvedBinding[],
  ): readonly ConfigurationViolation[] {
    const violations = new Violations(binding.name);
    const ownReads = readsOf(binding);
    for (const other of others) {
      // A binding with the same name is refused elsewhere, as a duplicate and by the registry.
      if (other.cluster !== binding.cluster || other.name === binding.name) continue;
      rejectSharedId(binding, other, violations);
      const shared = ownReads.find(({ topic, groupId }) =>
        readsOf(other).some((read) => read.topic === topic && read.groupId === groupId),
      );
      if (!shared) continue;
      const message = `binding '${other.name}' reads topic '${shared.topic}' in group '${shared.groupId}' too: each of the two would get only a part of the records. Give one of them another groupId, or put both handlers on one binding.`;
      violations.add(
        'GROUP_TOPIC',
        below(pathOf(binding.name), 'groupId'),
        shared.groupId,
        message,
      );
    }
    return violations.all;
  }

  #subject(binding: ResolvedBinding, origins: BindingOrigin['origins']): RuleSubject {
    return {
      binding,
      canPause: this.options.lifecycleManager ?? true,
      equalTierDelays: PRESETS[binding.preset].tierDelays === 'not-decreasing',
      is: (key, value) => {
        const source = origins?.get(key)?.source;
        const shown =
          typeof value === 'string' && value.startsWith('a list') ? value : formatValue(value);
        return `${key} is ${shown}${source ? ` (from ${source})` : ''}`;
      },
    };
  }
}

function rejectSharedId(
  binding: ResolvedBinding,
  other: ResolvedBinding,
  violations: Violations,
): void {
  const otherKeys = new Set(membersOf(other).map(memberKey));
  const shared = membersOf(binding).find((member) => otherKeys.has(memberKey(member)));
  if (!shared) return;
  const message = `makes '${shared.id}', the id that a session of binding '${other.name}' has in group '${shared.groupId}', too: the two would fence each other, and one of the bindings would never be consumed. Write {binding} into groupInstanceId.`;
  const { groupInstanceId } = binding;
  violations.add(
    'STATIC_ID',
    below(pathOf(binding.name), 'groupInstanceId'),
    groupInstanceId,
    message,
  );
}

interface StaticMember {
  readonly groupId: string;
  readonly id: string;
}

/**
 * Returns the static members of this process. Their ids are compared with a fixed host name,
 * because all bindings run on the same host.
 */
function membersOf(binding: ResolvedBinding): readonly StaticMember[] {
  const { groupId, concurrency, retry } = binding;
  if (!binding.staticMembership) return [];
  return [{ groupId, concurrency }, ...retry.tiers].flatMap((group) =>
    Array.from({ length: group.concurrency }, (_, index) => ({
      groupId: group.groupId,
      id: staticMemberId(binding, 'host', index) as string,
    })),
  );
}

const memberKey = ({ groupId, id }: StaticMember): string => `${groupId} ${id}`;

const pathOf = (name: string): string => below('bindings', name);

const readsOf = ({ topic, groupId, retry }: ResolvedBinding) => [
  { topic, groupId },
  ...retry.tiers,
];

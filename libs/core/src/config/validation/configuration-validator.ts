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
  /** Whether a lifecycle manager is there that a circuit breaker can pause with. Default true. */
  readonly lifecycleManager?: boolean;
}

/** How the binding came about, where that is known: it makes the messages better. */
export interface BindingOrigin {
  /** Keys that are wrong in themselves: no rule that reads one is asked. */
  readonly isBroken?: (key: string) => boolean;
  readonly origins?: ReadonlyMap<string, Layer>;
}

/** The rules between the keys of a binding, and between bindings. It collects; nothing is hidden by what comes first. */
export class ConfigurationValidator {
  constructor(private readonly options: ValidatorOptions = {}) {}

  /** Throws a ConfigurationValidationException that lists everything that is wrong. */
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
   * Two bindings that read one topic in one group would each get a part of its records; static
   * members of one group that have the same id fence each other.
   */
  clashes(
    binding: ResolvedBinding,
    others: readonly ResolvedBinding[],
  ): readonly ConfigurationViolation[] {
    const violations = new Violations(binding.name);
    const mine = readsOf(binding);
    for (const other of others) {
      // One that has the name already is refused for that, and by the registry.
      if (other.cluster !== binding.cluster || other.name === binding.name) continue;
      rejectSharedId(binding, other, violations);
      const shared = mine.find(({ topic, groupId }) =>
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
  const theirs = new Set(membersOf(other).map(memberKey));
  const shared = membersOf(binding).find((member) => theirs.has(memberKey(member)));
  if (!shared) return;
  const message = `makes '${shared.id}', the id that a session of binding '${other.name}' has in group '${shared.groupId}' too: the two would fence each other, and one would never be read. Write {binding} into groupInstanceId.`;
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

/** Of one process. All of its bindings are on the same host, whatever that is called. */
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

import type { DriverLogger } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { unwrapBatchError } from '../faults/bad-messages.js';
import { textOf } from '../faults/thrown.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';
import type { FailedOutcome } from '../../model/outcomes/outcome.js';
import { toRoutingDecision } from './to-routing-decision.js';
import { DefaultExceptionClassifier, type Classification } from './default-exception-classifier.js';

export interface FailureClassification extends Classification {
  /** No call can ever help, so none is worth making first. */
  readonly isPermanent: boolean;
}

/** Says where a failed record of its binding goes. Never throws. */
export interface BindingClassifier {
  classify(
    failed: Pick<FailedOutcome, 'error' | 'ending'>,
    currentTier: number,
  ): FailureClassification;
}

/** That of the binding, else that of the application, else the library's. */
export function classifierOf(
  binding: Pick<ResolvedBinding, 'name' | 'retry' | 'exceptionRouting' | 'classifier'>,
  globalClassifier: ExceptionClassifier | undefined,
  logger: DriverLogger,
): BindingClassifier {
  const own = new DefaultExceptionClassifier(binding, logger);
  const given = binding.classifier ?? globalClassifier;
  const classification = given
    ? new GuardedClassifier(binding.name, given, own, logger)
    : { classify: (error: Error) => own.classification(error) };
  return Object.freeze({
    classify({ error, ending }: Pick<FailedOutcome, 'error' | 'ending'>, currentTier: number) {
      const { decision, isExplicit } = classification.classify(error, currentTier);
      const isPermanent =
        ending === 'permanent' || decision.routing === ExceptionRouting.DEAD_LETTER;
      return { decision, isExplicit, isPermanent };
    },
  });
}

/** A classifier of the application, and ours for the time when it fails. */
class GuardedClassifier {
  constructor(
    private readonly binding: string,
    private readonly given: ExceptionClassifier,
    private readonly own: DefaultExceptionClassifier,
    private readonly logger: DriverLogger,
  ) {}

  classify(error: Error, currentTier: number): Classification {
    try {
      const answer: unknown = this.given.classify(unwrapBatchError(error), currentTier);
      return { decision: toRoutingDecision(answer), isExplicit: true };
    } catch (failure) {
      this.logger.error(
        'An ExceptionClassifier failed: the default one decides about this record',
        {
          binding: this.binding,
          error: textOf(failure),
        },
      );
      return this.own.classification(error);
    }
  }
}

import type { DriverLogger } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { meantError } from '../faults/unwrap-batch-error.js';
import { textOf } from '../faults/thrown.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';
import type { FailedOutcome } from '../../model/outcomes/outcome.js';
import { answeredDecision } from './answered-decision.js';
import { DefaultExceptionClassifier, type Classification } from './default-exception-classifier.js';

export interface Verdict extends Classification {
  /** No call can ever help, so none is worth making first. */
  readonly isPermanent: boolean;
}

/** Says where a failed record of its binding goes. Never throws. */
export interface BindingClassifier {
  classify(failed: Pick<FailedOutcome, 'error' | 'ending'>, currentTier: number): Verdict;
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
      const { decision, isChosen } = classification.classify(error, currentTier);
      const isPermanent =
        ending === 'permanent' || decision.routing === ExceptionRouting.DEAD_LETTER;
      return { decision, isChosen, isPermanent };
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
      const answer: unknown = this.given.classify(meantError(error), currentTier);
      return { decision: answeredDecision(answer), isChosen: true };
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

import type { DriverLogger } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { errorContext } from '../../errors/texts/error-context.js';
import { unwrapBatchError } from '../faults/bad-messages.js';
import type { FaultRule } from '../faults/fault.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';
import type { Failure } from '../../model/outcomes/failed-outcome.js';
import { toRoutingDecision } from './to-routing-decision.js';
import { DefaultExceptionClassifier } from './default-exception-classifier.js';
import type { Classification } from './default-routing.js';

export interface FailureClassification extends Classification {
  /** True if the record is not delivered again, because no call can ever help. */
  readonly isPermanent: boolean;
}

/**
 * Looks up the rule that says what caused an error. The router passes it, so that rules are
 * evaluated once per failure.
 */
export type FaultLookup = () => FaultRule | undefined;

/** Decides where a failed record of its binding goes. Never throws. */
export interface BindingClassifier {
  classify(
    failed: Pick<Failure, 'error' | 'reason'>,
    currentTier: number,
    faultRule?: FaultLookup,
  ): FailureClassification;
}

/**
 * Returns the classifier of the binding, or else that of the application, or else that of the
 * library.
 */
export function classifierOf(
  binding: Pick<ResolvedBinding, 'name' | 'retry' | 'exceptionRouting' | 'classifier' | 'dlt'>,
  globalClassifier: ExceptionClassifier | undefined,
  logger: DriverLogger,
): BindingClassifier {
  const library = new DefaultExceptionClassifier(binding, logger);
  const given = binding.classifier ?? globalClassifier;
  return Object.freeze({
    classify(
      { error, reason }: Pick<Failure, 'error' | 'reason'>,
      currentTier: number,
      faultRule?: FaultLookup,
    ) {
      const { decision, isExplicit } =
        (given && answerOf(given, error, currentTier, { binding, logger })) ??
        library.classification(error, faultRule);
      const isPermanent =
        reason === 'bad-message' || decision.routing === ExceptionRouting.DEAD_LETTER;
      return { decision, isExplicit, isPermanent };
    },
  });
}

/**
 * Returns the decision of the application's classifier; undefined if it throws, and then the
 * library's classifier decides.
 */
function answerOf(
  classifier: ExceptionClassifier,
  error: Error,
  currentTier: number,
  {
    binding: { name, dlt },
    logger,
  }: {
    readonly binding: Pick<ResolvedBinding, 'name' | 'dlt'>;
    readonly logger: DriverLogger;
  },
): Classification | undefined {
  try {
    const answer: unknown = classifier.classify(unwrapBatchError(error), currentTier);
    return { decision: toRoutingDecision(answer), isExplicit: true };
  } catch (failure) {
    logger.error('An ExceptionClassifier failed: the default one decides about this record', {
      binding: name,
      ...errorContext(failure, dlt),
    });
    return undefined;
  }
}

import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';

/**
 * Converts the answer of the application's classifier into a decision. The answer may come from
 * another copy of this library. Throws if it is no decision.
 */
export function toRoutingDecision(answer: unknown): ExceptionRoutingDecision {
  if (answer instanceof ExceptionRoutingDecision) return answer;
  if (typeof answer !== 'object' || answer === null) throw invalidAnswer(String(answer));
  const { routing, targetTier, then } = answer as Readonly<Record<string, unknown>>;
  if (typeof then === 'function') {
    // The promise is ignored, and must not become an unhandled rejection.
    void Promise.resolve(answer).catch(() => undefined);
    throw invalidAnswer('a promise');
  }
  switch (routing) {
    case ExceptionRouting.NEXT_TIER:
      return ExceptionRoutingDecision.nextTier();
    case ExceptionRouting.SKIP_TO_TIER:
      return ExceptionRoutingDecision.skipToTier(Number(targetTier));
    case ExceptionRouting.DEAD_LETTER:
      return ExceptionRoutingDecision.deadLetter();
    case ExceptionRouting.PAUSE_CONTAINER:
      return ExceptionRoutingDecision.pauseContainer();
    default:
      throw invalidAnswer('another object');
  }
}

const invalidAnswer = (what: string): TypeError =>
  new TypeError(
    `It answered ${what}. classify() returns at once what a factory of ExceptionRoutingDecision makes: nextTier(), skipToTier(n), deadLetter() or pauseContainer().`,
  );

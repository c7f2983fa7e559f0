import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';

/**
 * What a classifier of the application has answered, as a decision of ours: it may have been made by
 * another copy of this library. Throws where it is none.
 */
export function toRoutingDecision(answer: unknown): ExceptionRoutingDecision {
  if (answer instanceof ExceptionRoutingDecision) return answer;
  if (typeof answer !== 'object' || answer === null) throw invalidAnswer(String(answer));
  const { routing, targetTier, then } = answer as Readonly<Record<string, unknown>>;
  if (typeof then === 'function') {
    // Nobody waits for it, and it must not become an unhandled rejection.
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

/** `event`: this event cannot be handled. `outage`: nothing can be handled at the moment. */
export type FaultKind = 'event' | 'outage';

/** Decides whether an event or something that all events need has caused an error. */
export interface FaultClassifier {
  classify(error: Error): FaultKind;
}

/** Codes of Node and of brokers that say that the other side cannot be reached. */
const OUTAGE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
]);

/** Classifies an error as an outage if it, or one of its causes, has a network error code. */
export class DefaultFaultClassifier implements FaultClassifier {
  classify(error: Error): FaultKind {
    for (let current: unknown = error, depth = 0; current instanceof Error && depth < 5; depth++) {
      if (OUTAGE_CODES.has(String((current as { code?: unknown }).code))) return 'outage';
      current = current.cause;
    }
    return 'event';
  }
}

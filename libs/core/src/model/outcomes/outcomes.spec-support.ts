import type { BrokerRecord } from '@nest-event-bus/broker';
import { FIRST_DELIVERY, type DeliveryHistory } from './delivery-history.js';
import type { Delivery } from './delivery.js';
import type { FailedOutcome } from './failed-outcome.js';
import type { RememberedFailure } from './failure-report.js';

export interface GivenDelivery extends Partial<Omit<Delivery, 'history'>> {
  readonly history?: Partial<DeliveryHistory>;
}

/**
 * Returns a first delivery, unless `given` says otherwise. Its signals are created when a test
 * reads them.
 */
export function aDelivery({ history, ...given }: GivenDelivery = {}): Delivery {
  let own: AbortSignal | undefined;
  return {
    record: {} as BrokerRecord,
    receivedAt: 0,
    readySince: 0,
    sessionIndex: 0,
    assignment: undefined,
    onHandlerReturned: () => undefined,
    get signal() {
      return (own ??= new AbortController().signal);
    },
    get waitSignal() {
      return this.signal;
    },
    get isCancelled() {
      return this.waitSignal.aborted || this.assignment?.holdsLease === false;
    },
    ...given,
    history: { ...FIRST_DELIVERY, ...history },
  };
}

/** Returns a failed call whose record is redelivered, unless `given` says otherwise. */
export function aFailure(given: Partial<FailedOutcome> = {}): FailedOutcome {
  const failure = { kind: 'failed', reason: 'redeliver', error: new Error('no'), attempts: 1 };
  return { ...failure, ...given } as FailedOutcome;
}

/** Returns a remembered failure, with the members that tests check. */
export function aRememberedFailure(given: Partial<RememberedFailure> = {}): RememberedFailure {
  return { firstFailureAt: 7, fingerprint: 'f', ...given } as RememberedFailure;
}

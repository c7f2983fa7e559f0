import { afterFailure, afterHandBack, FIRST_DELIVERY, withDecision } from './delivery-history.js';
import { aFailure, aRememberedFailure } from './outcomes.spec-support.js';

describe('DeliveryHistory', () => {
  const report = aRememberedFailure();
  const failedOnce = afterFailure(FIRST_DELIVERY, aFailure({ attempts: 3, report }));

  it('counts the handler calls of a failed delivery', () => {
    expect(failedOnce).toMatchObject({ redeliveries: 1, failures: 1, calls: 3 });
  });

  it('counts a delivery, but no failure, when a record is handed back', () => {
    expect(afterHandBack(failedOnce)).toMatchObject({ redeliveries: 2, failures: 1, calls: 3 });
  });

  it('remembers the latest failure with a handler call', () => {
    const later = aRememberedFailure({ fingerprint: 'another' });
    expect(failedOnce.lastFailure).toBe(report);
    expect(afterFailure(failedOnce, aFailure({ report: later })).lastFailure).toBe(later);
    expect(afterFailure(failedOnce, aFailure({ attempts: 0, report: later })).lastFailure).toBe(
      report,
    );
  });

  it('keeps a decision that could not be applied, and the failure that led to it', () => {
    const decided = withDecision(failedOnce, 'dead-letter');
    const next = afterFailure(decided, aFailure({ attempts: 0 }));
    expect(next).toMatchObject({ decision: 'dead-letter', calls: 3 });
    expect(next.lastFailure).toBe(report);
    expect(withDecision(next, 'retry').decision).toBeUndefined();
  });

  it('keeps a pending write, and the failure that it reports', () => {
    const pendingWrite = {
      destination: { kind: 'retry', tier: 1, topic: 'orders.retry-1', delivery: 1 },
      report: aRememberedFailure({ fingerprint: 'written' }),
    } as const;
    const refused = aFailure({ reason: 'write-failed', attempts: 2, pendingWrite });
    const next = afterFailure(failedOnce, refused);
    expect(next.pendingWrite).toBe(pendingWrite);
    expect(next.lastFailure).toBe(pendingWrite.report);
    expect(afterHandBack(next).pendingWrite).toBe(pendingWrite);
  });

  it('has no wait after the delivery that waited', () => {
    const waiting = { ...failedOnce, wait: { reason: 'backoff', until: 5 } } as const;
    expect(afterHandBack(waiting).wait).toBeUndefined();
  });
});

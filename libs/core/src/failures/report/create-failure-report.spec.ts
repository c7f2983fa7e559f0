import {
  BatchProcessingException,
  DeadLetterRequestedException,
  DeserializationException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import type { Failure } from '../../model/outcomes/failed-outcome.js';
import {
  aDelivery,
  aRememberedFailure,
  type GivenDelivery,
} from '../../model/outcomes/outcomes.spec-support.js';
import { headers, recordOf } from './failure-report-samples.spec-support.js';
import { createFailureReport, type FailureReportSource } from './create-failure-report.js';

class Timeout extends Error {}

const NOW = 1_700_000_009_000;
const dlt = { exceptionDetail: 'full' } as FailureReportSource['binding']['dlt'];

interface Given {
  readonly delivery?: GivenDelivery;
  readonly failed?: Partial<Failure>;
  readonly tier?: number;
  readonly dlt?: object;
}

const reportOf = ({ delivery, failed, tier = 0, ...given }: Given = {}) =>
  createFailureReport({
    binding: { name: 'orders', groupId: 'shop', dlt: { ...dlt, ...given.dlt } },
    delivery: aDelivery({ record: recordOf(), ...delivery }),
    failed: {
      kind: 'failed',
      reason: 'retry-exhausted',
      error: new Timeout('slow'),
      attempts: 3,
      ...failed,
    },
    tier,
    runtime: { now: () => NOW },
  });

const fingerprint = (error = new Timeout('slow')): string =>
  reportOf({ failed: { error } }).fingerprint;

const inTier2 = (fingerprintBefore: string | null = fingerprint()) =>
  recordOf({
    topic: 'orders.events.retry-2',
    partition: 0,
    offset: 2,
    headers: headers([
      ['x-eventbus-original-topic', 'orders.events'],
      ['x-eventbus-original-partition', '3'],
      ['x-eventbus-original-offset', '17'],
      ['x-eventbus-original-timestamp', '1000'],
      ['x-eventbus-retry-tier', '2'],
      ['x-eventbus-retry-attempt', '2'],
      ['x-eventbus-total-attempts', '7'],
      ['x-eventbus-first-failure-timestamp', '2000'],
      ['x-eventbus-replay-count', '1'],
      ...(fingerprintBefore === null
        ? []
        : ([['x-eventbus-fingerprint', fingerprintBefore]] as const)),
      ['x-eventbus-tier0-exception', 'TypeError'],
      ['x-eventbus-tier0-exhausted-at', '3000'],
      ['x-eventbus-tier0-attempts', '3'],
      ['x-eventbus-tier2-attempts', '4'],
    ]),
  });

describe('createFailureReport() on the main topic', () => {
  it('contains the position of the record as the original one, and the present time', () => {
    const record = recordOf();
    const error = new Timeout('slow');
    expect(reportOf({ delivery: { record }, failed: { error } })).toEqual({
      binding: 'orders',
      groupId: 'shop',
      calls: expect.any(Number),
      ownFingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      record,
      originalTopic: 'orders.events',
      originalPartition: 3,
      originalOffset: 17n,
      originalTimestamp: 1_700_000_000_000,
      tier: 0,
      delivery: 1,
      totalAttempts: 3,
      firstFailureAt: NOW,
      failedAt: NOW,
      description: { className: 'Timeout', message: 'slow', stack: error.stack },
      tierHistory: [{ tier: 0, exceptionClass: 'Timeout', exhaustedAt: NOW, attempts: 3 }],
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      isPoison: true,
      replayCount: 0,
    });
  });

  it.each([
    [
      'the calls of earlier deliveries that the lane remembers',
      { redeliveries: 9, failures: 2, calls: 5 },
      3,
      8,
      3,
    ],
    ['one attempt for a record that could not be prepared', { redeliveries: 0 }, 1, 1, 1],
    ['no handler call if none was made', { redeliveries: 0 }, 0, 0, 1],
  ])('counts %s', (_, history, attempts, total, deliveries) => {
    const report = reportOf({ delivery: { history }, failed: { attempts } });
    expect(report).toMatchObject({ totalAttempts: total, delivery: deliveries });
    expect(report.tierHistory).toMatchObject([{ attempts: total }]);
  });
});

describe('firstFailureAt', () => {
  const lastFailure = aRememberedFailure({ firstFailureAt: 1_000, fingerprint: 'varied' });

  it('is the time of the first call of this delivery', () => {
    expect(reportOf({ failed: { firstFailedAt: 5_000 } })).toMatchObject({
      firstFailureAt: 5_000,
      failedAt: NOW,
    });
  });

  it('is the time of an earlier failure on the same topic', () => {
    const delivery = { history: { redeliveries: 1, lastFailure } };
    expect(reportOf({ delivery, failed: { firstFailedAt: 5_000 } }).firstFailureAt).toBe(1_000);
  });

  it('is the time of a failure on an earlier topic', () => {
    const later = { ...lastFailure, firstFailureAt: 3_000 };
    const delivery = { record: inTier2(), history: { lastFailure: later } };
    expect(reportOf({ tier: 2, delivery }).firstFailureAt).toBe(2_000);
  });
});

describe('`deserialization` in a failure report', () => {
  const unreadable = (options = {}) =>
    new DeserializationException('The value of orders-0-1 is not JSON: the parser refused it.', {
      format: 'JSON',
      reason: 'the parser refused it',
      cause: new SyntaxError('Unexpected token j in "jane@example.org"'),
      ...options,
    });
  const deserializationOf = (error: Error, options: object = {}) =>
    reportOf({ failed: { error, attempts: 1 }, dlt: options }).deserialization;

  it('contains the part, the format, the error class and a reason from the library', () => {
    expect(deserializationOf(unreadable())).toEqual({
      part: 'value',
      format: 'JSON',
      exceptionClass: 'SyntaxError',
      reason: 'the parser refused it',
    });
  });

  it("contains the reason only with exceptionDetail 'full'", () => {
    const rest = { part: 'value', format: 'JSON', exceptionClass: 'SyntaxError' };
    expect(deserializationOf(unreadable(), { exceptionDetail: 'class' })).toEqual(rest);
    expect(deserializationOf(unreadable(), { redact: () => ({ message: '***' }) })).toEqual(rest);
    expect(deserializationOf(unreadable({ reason: undefined }))).toEqual(rest);
  });

  it("has its texts cut at a limit, and 'unknown' where the error gives no format or class", () => {
    expect(
      deserializationOf(unreadable({ format: 'x'.repeat(1_000), reason: 'y'.repeat(5_000) })),
    ).toMatchObject({
      format: 'x'.repeat(256),
      reason: 'y'.repeat(1_024),
    });
    expect(deserializationOf(new DeserializationException('x'))).toEqual({
      part: 'value',
      format: 'unknown',
      exceptionClass: 'unknown',
    });
  });

  it('is absent for other failures', () => {
    expect(deserializationOf(new Timeout('slow'))).toBeUndefined();
  });
});

describe('createFailureReport() in a retry topic', () => {
  const report = reportOf({ tier: 2, delivery: { record: inTier2() } });

  it("continues the history from the record's headers", () => {
    expect(report).toMatchObject({
      originalTopic: 'orders.events',
      originalPartition: 3,
      originalOffset: 17n,
      originalTimestamp: 1_000,
      tier: 2,
      delivery: 2,
      totalAttempts: 10,
      firstFailureAt: 2_000,
      replayCount: 1,
    });
  });

  it('cuts the class names that it reads from headers', () => {
    const long = `${'x'.repeat(255)}\u00e9${'y'.repeat(5_000)}`;
    const list = [...inTier2().headers, ...headers([['x-eventbus-tier1-exception', long]])];
    const { tierHistory } = reportOf({
      tier: 2,
      delivery: { record: recordOf({ headers: list }) },
    });
    expect(tierHistory[1]).toMatchObject({ tier: 1, exceptionClass: 'x'.repeat(255) });
  });

  it('adds the calls of this delivery to the attempts of its tier', () => {
    expect(report.tierHistory).toEqual([
      { tier: 0, exceptionClass: 'TypeError', exhaustedAt: 3_000, attempts: 3 },
      { tier: 2, exceptionClass: 'Timeout', exhaustedAt: NOW, attempts: 7 },
    ]);
  });

  it('counts no further delivery of the tier for a record that was redelivered on the same topic', () => {
    const history = { redeliveries: 5, failures: 4, calls: 4 };
    const delivery = { record: inTier2(), history };
    expect(reportOf({ tier: 2, delivery })).toMatchObject({ delivery: 2, totalAttempts: 14 });
  });
});

describe('The fingerprint of a failure', () => {
  it('is the same for the same class and message only', () => {
    expect(fingerprint(new Timeout('slow'))).toBe(fingerprint());
    expect(fingerprint(new Timeout('slower'))).not.toBe(fingerprint());
    expect(fingerprint(new TypeError('slow'))).not.toBe(fingerprint());
  });

  it('does not depend on text that was redacted', () => {
    const hidden = (message: string, options: object) =>
      reportOf({ failed: { error: new Timeout(message) }, dlt: options }).fingerprint;
    const byClass = { exceptionDetail: 'class' };
    expect(hidden('of jane', byClass)).toBe(hidden('of john', byClass));
    const redacted = { redact: () => ({ message: 'of somebody' }) };
    expect(hidden('of jane', redacted)).toBe(hidden('of john', redacted));
  });

  it("stays 'varied' once a record has failed in different ways", () => {
    const other = reportOf({ tier: 2, delivery: { record: inTier2('0123456789abcdef') } });
    expect(other).toMatchObject({ fingerprint: 'varied', isPoison: false });
    expect(other.ownFingerprint).toBe(fingerprint());
    const later = reportOf({ tier: 2, delivery: { record: inTier2('varied') } });
    expect(later).toMatchObject({ fingerprint: 'varied', isPoison: false });
  });
});

describe('isPoison', () => {
  it('is true if several calls failed in the same way', () => {
    expect(reportOf({ failed: { attempts: 1 } }).isPoison).toBe(false);
    expect(reportOf({ failed: { attempts: 2 } }).isPoison).toBe(true);
    expect(reportOf({ tier: 2, delivery: { record: inTier2() } }).isPoison).toBe(true);
  });

  it('is false if the calls of a delivery failed in different ways', () => {
    const failed = { hasVaried: true };
    expect(reportOf({ failed })).toMatchObject({ fingerprint: 'varied', isPoison: false });
    const later = reportOf({ tier: 2, delivery: { record: inTier2() }, failed });
    expect(later).toMatchObject({ fingerprint: 'varied', isPoison: false });
  });

  it('is false for a record that its handler dead-lettered', () => {
    const error = new DeadLetterRequestedException('no such customer');
    expect(reportOf({ failed: { error, reason: 'handler-gave-up' } }).isPoison).toBe(false);
  });

  it('is false if the earlier failures are unknown', () => {
    const delivery = { record: inTier2(null) };
    expect(reportOf({ tier: 2, delivery })).toMatchObject({
      fingerprint: fingerprint(),
      isPoison: false,
    });
  });

  it('is true if all redeliveries on one topic failed with the same error', () => {
    const delivery = (earlier: string | undefined) => ({
      history: {
        redeliveries: 2,
        failures: 2,
        calls: 2,
        ...(earlier !== undefined && {
          lastFailure: aRememberedFailure({ fingerprint: earlier }),
        }),
      },
    });
    const failed = { attempts: 1 };
    const report = (earlier?: string) => reportOf({ delivery: delivery(earlier), failed });
    expect(report(fingerprint())).toMatchObject({ fingerprint: fingerprint(), isPoison: true });
    expect(report('0123456789abcdef')).toMatchObject({ fingerprint: 'varied', isPoison: false });
    expect(report('varied')).toMatchObject({ fingerprint: 'varied', isPoison: false });
    expect(report()).toMatchObject({ fingerprint: fingerprint(), isPoison: false });
  });

  it('is false if the record failed in another way on an earlier topic', () => {
    const lastFailure = aRememberedFailure({ fingerprint: fingerprint() });
    const delivery = {
      record: inTier2('0123456789abcdef'),
      history: { redeliveries: 1, lastFailure },
    };
    const report = reportOf({ tier: 2, delivery, failed: { attempts: 1 } });
    expect(report).toMatchObject({ fingerprint: 'varied', isPoison: false });
  });

  it.each([
    ['cannot be read', new DeserializationException('not JSON')],
    ['has a type without a handler', new UnknownEventTypeException('no handler')],
    ['is not valid', new PayloadValidationException('no id', ['id'])],
    [
      'is not valid, in a batch',
      new BatchProcessingException(0, 'at 0', [], {
        cause: new PayloadValidationException('no id', []),
      }),
    ],
  ])('is true for a record that %s', (_, error) => {
    expect(reportOf({ failed: { error, attempts: 1 } }).isPoison).toBe(true);
  });
});

describe('The report of a failed batch', () => {
  it('describes the error that the handler wrapped', () => {
    const cause = new Timeout('slow');
    const error = new BatchProcessingException(2, 'stopped at 2', [], { cause });
    const report = reportOf({ failed: { error } });
    expect(report.description.className).toBe('Timeout');
  });
});

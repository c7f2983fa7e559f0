import type { RecordHeader } from '@nest-event-bus/broker';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import {
  headers,
  recordOf,
  shown,
  aFailureReport,
} from '../report/failure-report-samples.spec-support.js';
import { DltHeaderEnricher } from './dlt-header-enricher.js';
import type { HeaderVariant } from './header-variants.js';
import { RetryHeaderEnricher } from './retry-header-enricher.js';

const AT = 1_700_000_003_000;
const LETTER = {
  kind: 'dead-letter',
  reason: 'RETRIES_EXHAUSTED',
  cause: 'exhausted',
  at: AT,
} as const;
const HOP = { kind: 'retry', tier: 2, delivery: 1, at: AT } as const;

const CONTROL = {
  trace: 'a',
  'x-eventbus-version': '1',
  'x-eventbus-header-profiles': '',
  'x-eventbus-binding-name': 'orders',
  'x-eventbus-group-id': 'shop',
  'x-eventbus-original-topic': 'orders.events',
  'x-eventbus-original-partition': '3',
  'x-eventbus-original-offset': '17',
  'x-eventbus-original-timestamp': '1700000000000',
  'x-eventbus-total-attempts': '3',
  'x-eventbus-first-failure-timestamp': '1700000001000',
  'x-eventbus-replay-count': '0',
};
const LETTER_CONTROL = {
  ...CONTROL,
  'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
  'x-eventbus-dlt-cause': 'exhausted',
};
const RETRY_CONTROL = {
  ...CONTROL,
  'x-eventbus-retry-tier': '2',
  'x-eventbus-retry-attempt': '1',
  'x-eventbus-retry-timestamp': String(AT),
  'x-eventbus-fingerprint': '0123456789abcdef',
  'x-eventbus-tier0-attempts': '3',
};
describe('Header variants of a record that is too large', () => {
  const size = (list: readonly RecordHeader[]): number =>
    list.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0);

  it('omit from a dead letter its stack, message, further profiles, history, and in the end all headers', () => {
    const enricher = new DltHeaderEnricher(['eventbus', 'spring', 'plain']);
    const variants = [...enricher.variants(aFailureReport(), LETTER)];
    expect(variants.map(({ without }) => without.join(', '))).toEqual([
      '',
      'stack',
      'stack, message',
      'stack, message, further profiles',
      'stack, message, further profiles, tier history',
      'stack, message, further profiles, tier history, all but the control headers',
      'all headers of its report',
    ]);
    const sizes = variants.map((variant) => size(variant.headers));
    expect(sizes).toEqual(sizes.toSorted((one, other) => other - one));
    expect(new Set(sizes).size).toBe(sizes.length);
    expect(shown(variants.at(-2)!.headers)).toEqual(LETTER_CONTROL);
    expect(shown(variants.at(-1)!.headers)).toEqual({ trace: 'a' });
  });

  it('omit together with the message the reason why a record could not be deserialized', () => {
    const deserialization = {
      part: 'value',
      format: 'JSON',
      exceptionClass: 'SyntaxError',
      reason: 'the parser refused it',
    } as const;
    const variants = [
      ...new DltHeaderEnricher(['eventbus']).variants(aFailureReport({ deserialization }), LETTER),
    ];
    const [, , withoutMessage] = variants.map((variant) => shown(variant.headers));
    expect(withoutMessage).toMatchObject({ 'x-eventbus-deserialization-format': 'JSON' });
    expect(withoutMessage).not.toHaveProperty('x-eventbus-deserialization-reason');
  });

  it('keep in a retry record the headers that its reader needs', () => {
    const enricher = new RetryHeaderEnricher(['spring']);
    const variants = [...enricher.variants(aFailureReport(), HOP)];
    expect(variants.map(({ without }) => without.at(-1))).toEqual([
      undefined,
      'stack',
      'message',
      'further profiles',
      'all but the control headers',
    ]);
    expect(shown(variants.at(-1)!.headers)).toEqual(RETRY_CONTROL);
  });

  it('have no step that would remove nothing', () => {
    const report = aFailureReport({ description: { className: 'OutOfStock' } });
    const variants = [...new DltHeaderEnricher(['eventbus']).variants(report, LETTER)];
    expect(variants.map(({ without }) => without.at(-1))).toEqual([
      undefined,
      'tier history',
      'all but the control headers',
      'all headers of its report',
    ]);
  });
});

describe('Headers that a producer wrote with the names of a profile', () => {
  const own = [
    ['retry-count', '7'],
    ['original-topic', 'elsewhere'],
  ] as const;
  const record = (list: Parameters<typeof headers>[0]) => recordOf({ headers: headers(list) });
  const last = (written: Iterable<HeaderVariant>) => shown([...written].at(-1)!.headers);
  const letter = (report: FailureReport) =>
    last(new DltHeaderEnricher(['eventbus', 'plain']).variants(report, LETTER));

  it('are archived by the profile, and return when the profile is removed', () => {
    const report = aFailureReport({ record: record(own) });
    const variants = [...new DltHeaderEnricher(['eventbus', 'plain']).variants(report, LETTER)];
    expect(shown(variants[0]!.headers)).toMatchObject({
      'retry-count': '2',
      'x-eventbus-archived-retry-count': '7',
    });
    expect(letter(report)).toEqual(Object.fromEntries(own));
    const hop = last(new RetryHeaderEnricher(['plain']).variants(report, HOP));
    expect(hop).toMatchObject(Object.fromEntries(own));
    expect(hop['x-eventbus-retry-tier']).toBe('2');
  });

  it('are not restored if an earlier retry has written a failure report in that profile', () => {
    const [hop] = new RetryHeaderEnricher(['plain']).variants(aFailureReport(), HOP);
    const report = aFailureReport({ tier: 2, record: recordOf({ headers: hop!.headers }) });
    expect(letter(report)).toEqual({ trace: 'a' });
  });
});

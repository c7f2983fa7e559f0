import { DltPublisher } from './dlt-publisher.js';
import { PublishingTestBed } from './publishers.spec-support.js';
import { recordOf, shown, aFailureReport } from '../report/failure-report-samples.spec-support.js';

const DLT = 'orders.events.DLT';
const LETTER = { reason: 'RETRIES_EXHAUSTED', cause: 'exhausted' } as const;

let testBed: PublishingTestBed;

beforeEach(() => {
  testBed = new PublishingTestBed();
});
afterEach(() => testBed.end());

const publisher = (...given: Parameters<PublishingTestBed['parts']>): DltPublisher =>
  new DltPublisher(testBed.parts(...given));

describe('A dead letter that is too large', () => {
  const writtenWithin = async (bytes: number, value = Buffer.alloc(100)) => {
    await testBed.topic('small', bytes);
    const long = 'x'.repeat(900);
    const description = { className: 'OutOfStock', message: long, stack: long.repeat(2) };
    const report = aFailureReport({ record: recordOf({ value }), description });
    const letters = publisher({
      topic: 'small',
      headerProfile: ['eventbus', 'spring', 'plain'],
    });
    await testBed.done(letters.publish(report, LETTER));
    const [letter] = await testBed.records('small');
    expect(letter?.value).toEqual(value);
    const [line] = testBed.lines.filter(({ level }) => level === 'warn');
    return { names: Object.keys(shown(letter!.headers)), without: line?.context?.['without'] };
  };

  it('keeps all headers if it fits', async () => {
    expect((await writtenWithin(20_000)).without).toBeUndefined();
  });

  it('loses its stack first', async () => {
    const { names, without } = await writtenWithin(6_000);
    expect(without).toEqual(['stack']);
    expect(names).toContain('kafka_dlt-exception-message');
    expect(names).not.toContain('kafka_dlt-exception-stacktrace');
  });

  it('loses first the stack header, then the header with the exception message, in every profile', async () => {
    const { names, without } = await writtenWithin(2_500);
    expect(without).toEqual(['stack', 'message']);
    expect(names).not.toContain('kafka_dlt-exception-message');
    expect(names).toContain('x-eventbus-last-exception-class');
  });

  it('loses the further profiles after the message', async () => {
    const { names, without } = await writtenWithin(1_000);
    expect(without).toEqual(['stack', 'message', 'further profiles']);
    expect(names).not.toContain('original-topic');
    expect(names).toContain('x-eventbus-tier0-exception');
    expect(names).toContain('x-eventbus-dlt-reason');
  });

  it('loses all headers of its failure in the end, but never those that it had before', async () => {
    const { names, without } = await writtenWithin(250);
    expect(without).toEqual(['all headers of its report']);
    expect(names).toEqual(['trace']);
  });

  it('is logged with its position and what to do', async () => {
    await writtenWithin(250);
    expect(testBed.lines).toEqual([
      {
        level: 'warn',
        message: expect.stringContaining('Raise max.message.bytes'),
        context: {
          binding: 'orders',
          topic: 'orders.events',
          partition: 3,
          offset: '17',
          to: 'small',
          without: ['all headers of its report'],
        },
      },
    ]);
  });

  it('is not written if not even the original record fits, and the error says so', async () => {
    await testBed.topic('small', 250);
    const report = aFailureReport({ record: recordOf({ value: Buffer.alloc(1_000) }) });
    const error = await testBed.failureOf(publisher({ topic: 'small' }).publish(report, LETTER));
    expect(error.message).toContain(
      "A dead letter of binding 'orders' (orders.events-3-17) could not be written to topic 'small'. It was not written. The record stays where it is and is tried again. It is too large even with the fewest headers. Raise max.message.bytes",
    );
    expect(await testBed.records('small')).toEqual([]);
    expect(testBed.publishProblems.all).toMatchObject([{ topic: 'small', error }]);
  });

  it('loses headers also if the limit is that of the producer', async () => {
    await testBed.topic(DLT);
    const value = Buffer.alloc(4_200);
    const producer = testBed.driver.producer({ maxRequestBytes: 5_000 });
    const letters = publisher({}, { producer: () => producer });
    const description = { className: 'A', message: 'm', stack: 's'.repeat(2_000) };
    const report = aFailureReport({ record: recordOf({ value }), description });
    await testBed.done(letters.publish(report, LETTER));
    expect((await testBed.records(DLT))[0]?.value).toEqual(value);
  });
});

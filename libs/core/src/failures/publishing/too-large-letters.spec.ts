import { DltPublisher } from './dlt-publisher.js';
import { PublishingWorld } from './publishers.spec-support.js';
import { recordOf, shown, storyOf } from '../report/failure-report-samples.spec-support.js';

const DLT = 'orders.events.DLT';
const LETTER = { reason: 'RETRIES_EXHAUSTED', cause: 'exhausted' } as const;

let world: PublishingWorld;

beforeEach(() => {
  world = new PublishingWorld();
});
afterEach(() => world.end());

const publisher = (...given: Parameters<PublishingWorld['parts']>): DltPublisher =>
  new DltPublisher(world.parts(...given));

describe('a dead letter that is too large', () => {
  const roomFor = async (bytes: number, value = Buffer.alloc(100)) => {
    await world.topic('small', bytes);
    const long = 'x'.repeat(900);
    const description = { className: 'OutOfStock', message: long, stack: long.repeat(2) };
    const story = storyOf({ record: recordOf({ value }), description });
    const letters = publisher({
      topic: 'small',
      headerProfile: ['eventbus', 'spring', 'plain'],
    });
    await world.done(letters.publish(story, LETTER));
    const [letter] = await world.records('small');
    expect(letter?.value).toEqual(value);
    const [line] = world.lines.filter(({ level }) => level === 'warn');
    return { names: Object.keys(shown(letter!.headers)), without: line?.context?.['without'] };
  };

  it('loses nothing where it fits', async () => {
    expect((await roomFor(20_000)).without).toBeUndefined();
  });

  it('loses its stack first', async () => {
    const { names, without } = await roomFor(6_000);
    expect(without).toEqual(['stack']);
    expect(names).toContain('kafka_dlt-exception-message');
    expect(names).not.toContain('kafka_dlt-exception-stacktrace');
  });

  it('then its message, wherever that is told', async () => {
    const { names, without } = await roomFor(2_500);
    expect(without).toEqual(['stack', 'message']);
    expect(names).not.toContain('kafka_dlt-exception-message');
    expect(names).toContain('x-eventbus-last-exception-class');
  });

  it('then what other profiles tell again', async () => {
    const { names, without } = await roomFor(1_000);
    expect(without).toEqual(['stack', 'message', 'further profiles']);
    expect(names).not.toContain('original-topic');
    expect(names).toContain('x-eventbus-tier0-exception');
    expect(names).toContain('x-eventbus-dlt-reason');
  });

  it('and in the end all of it, but never its own headers', async () => {
    const { names, without } = await roomFor(250);
    expect(without).toEqual(['all headers of its story']);
    expect(names).toEqual(['trace']);
  });

  it('says where it came from, and what to do', async () => {
    await roomFor(250);
    expect(world.lines).toEqual([
      {
        level: 'warn',
        message: expect.stringContaining('Raise max.message.bytes'),
        context: {
          binding: 'orders',
          topic: 'orders.events',
          partition: 3,
          offset: '17',
          to: 'small',
          without: ['all headers of its story'],
        },
      },
    ]);
  });

  it('even as it was written first is not written, and says so', async () => {
    await world.topic('small', 250);
    const story = storyOf({ record: recordOf({ value: Buffer.alloc(1_000) }) });
    const error = await world.failureOf(publisher({ topic: 'small' }).publish(story, LETTER));
    expect(error.message).toContain(
      "A dead letter of binding 'orders' (orders.events-3-17) could not be written to topic 'small'. It was not written. The record stays where it is and is tried again. It is too large even with the fewest headers. Raise max.message.bytes",
    );
    expect(await world.records('small')).toEqual([]);
    expect(world.trouble.all).toMatchObject([{ topic: 'small', error }]);
  });

  it('for the producer itself loses headers as well', async () => {
    await world.topic(DLT);
    const value = Buffer.alloc(4_200);
    const producer = world.driver.producer({ maxRequestBytes: 5_000 });
    const letters = publisher({}, { producer: () => producer });
    const description = { className: 'A', message: 'm', stack: 's'.repeat(2_000) };
    const story = storyOf({ record: recordOf({ value }), description });
    await world.done(letters.publish(story, LETTER));
    expect((await world.records(DLT))[0]?.value).toEqual(value);
  });
});

import { DltPublisher } from './dlt-publisher.js';
import { PublishTrouble } from './publish-problem-of.js';
import { PublishingWorld } from './publishers.spec-support.js';
import { storyOf } from '../report/failure-report-samples.spec-support.js';

const DLT = 'orders.events.DLT';
const LETTER = { reason: 'RETRIES_EXHAUSTED', cause: 'exhausted' } as const;

let world: PublishingWorld;

beforeEach(() => {
  world = new PublishingWorld();
});
afterEach(() => world.end());

const publisher = (...given: Parameters<PublishingWorld['parts']>): DltPublisher =>
  new DltPublisher(world.parts(...given));

describe('the trouble of a topic', () => {
  it('begins with a write that fails and ends with one that succeeds', async () => {
    const changes = jest.fn();
    const leave = world.trouble.onChange(changes);
    const letters = publisher({ publishTimeoutMs: 1_000 });
    const first = await world.failureOf(letters.publish(storyOf(), LETTER));
    const [trouble] = world.trouble.all;
    expect(trouble).toMatchObject({ topic: DLT, error: first });
    await world.runtime.advance(10_000);
    const second = await world.failureOf(letters.publish(storyOf(), LETTER));
    const [later] = world.trouble.all;
    expect(later).toMatchObject({ topic: DLT, error: second, since: trouble!.since });
    expect(later!.lastSeen).toBeGreaterThan(trouble!.lastSeen);
    expect(changes).toHaveBeenCalledTimes(1);
    await world.topic(DLT);
    await world.done(letters.publish(storyOf(), LETTER));
    expect(world.trouble.all).toEqual([]);
    expect(changes).toHaveBeenCalledTimes(2);
    leave();
    world.trouble.failed(DLT, first);
    expect(changes).toHaveBeenCalledTimes(2);
  });

  it('is none where the write was called off', async () => {
    await world.topic(DLT);
    world.broker.faults.loseRequests({ operation: 'produce', topic: DLT });
    const work = new AbortController();
    const writing = publisher().publish(storyOf(), LETTER, work.signal);
    writing.catch(() => undefined);
    await world.runtime.advance(100);
    work.abort(new Error('the partition was taken away'));
    await world.failureOf(writing);
    expect(world.trouble.all).toEqual([]);
  });

  it('goes with the binding, and a listener that throws does no harm', () => {
    const heard = jest.fn();
    world.trouble.onChange(() => {
      throw new Error('no');
    });
    world.trouble.onChange(heard);
    world.trouble.failed(DLT, new Error('gone'));
    world.trouble.clear();
    world.trouble.clear();
    expect(world.trouble.all).toEqual([]);
    expect(heard).toHaveBeenCalledTimes(2);
    const threw = world.lines.filter(({ message }) => message.startsWith('A listener'));
    expect(threw.map(({ level }) => level)).toEqual(['error', 'error']);
  });

  it('is told when it begins and when it ends, with the record that waits and what to do', async () => {
    const letters = publisher({ publishTimeoutMs: 1_000 });
    for (let tries = 0; tries < 3; tries++)
      await world.failureOf(letters.publish(storyOf(), LETTER));
    expect(world.lines).toMatchObject([
      { level: 'error', context: { binding: 'orders', to: DLT } },
    ]);
    const { message } = world.lines[0]!;
    expect(message).toContain("binding 'orders' (orders.events-3-17)");
    expect(message).toContain(`could not be written to topic '${DLT}'`);
    expect(message).toContain('stays where it is and is tried again');
    expect(JSON.stringify(world.lines)).not.toContain('no stock');
    await world.topic(DLT);
    await world.done(letters.publish(storyOf(), LETTER));
    await world.done(letters.publish(storyOf(), LETTER));
    expect(world.lines.slice(1)).toEqual([
      {
        level: 'info',
        message: `Topic '${DLT}' of binding 'orders' can be written to again`,
        context: { binding: 'orders', to: DLT, afterMs: expect.any(Number) },
      },
    ]);
  });

  it.each([30_000, 180_000])(
    'lasts from one try to the next, with %d ms for each, and no longer',
    async (publishTimeoutMs) => {
      const trouble = new PublishTrouble('orders', publishTimeoutMs, world.runtime, world.logger);
      trouble.failed(DLT, new Error('gone'));
      const since = world.runtime.now();
      await world.runtime.advance(60_000 + publishTimeoutMs);
      expect(trouble.all).toMatchObject([{ topic: DLT, since }]);
      trouble.failed(DLT, new Error('gone'));
      expect(trouble.all).toMatchObject([{ since }]);
      expect(world.lines).toHaveLength(1);
      await world.runtime.advance(120_000 + publishTimeoutMs);
      expect(trouble.all).toEqual([]);
      trouble.failed(DLT, new Error('gone'));
      expect(trouble.all).toMatchObject([{ since: world.runtime.now() }]);
      expect(world.lines).toHaveLength(2);
    },
  );
});

import { DltPublisher } from './dlt-publisher.js';
import { PublishingWorld } from './publishers.spec-support.js';
import { storyOf } from './story.spec-support.js';

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
    expect(world.lines.map(({ level }) => level)).toEqual(['error', 'error']);
  });
});

import { DltPublisher } from './dlt-publisher.js';
import { PublishingTestBed } from './publishers.spec-support.js';
import { aFailureReport } from '../report/failure-report-samples.spec-support.js';

const DLT = 'orders.events.DLT';
const LETTER = { reason: 'RETRIES_EXHAUSTED', cause: 'exhausted' } as const;

let testBed: PublishingTestBed;

beforeEach(() => {
  testBed = new PublishingTestBed();
});
afterEach(() => testBed.end());

const publisher = (...given: Parameters<PublishingTestBed['parts']>): DltPublisher =>
  new DltPublisher(testBed.parts(...given));

const linesOf = (level: string): readonly string[] =>
  testBed.lines.filter((line) => line.level === level).map(({ message }) => message);

describe('PublishProblemTracker', () => {
  it('adds a topic after a failed write, and removes it after a successful one', async () => {
    const changes = jest.fn();
    const leave = testBed.publishProblems.onChange(changes);
    const letters = publisher({ publishTimeoutMs: 1_000 });
    const first = await testBed.failureOf(letters.publish(aFailureReport(), LETTER));
    const [problem] = testBed.publishProblems.all;
    expect(problem).toMatchObject({ topic: DLT, error: first });
    await testBed.runtime.advance(10_000);
    const second = await testBed.failureOf(letters.publish(aFailureReport(), LETTER));
    const [later] = testBed.publishProblems.all;
    expect(later).toMatchObject({ topic: DLT, error: second, since: problem!.since });
    expect(later!.lastSeen).toBeGreaterThan(problem!.lastSeen);
    expect(changes).toHaveBeenCalledTimes(1);
    await testBed.topic(DLT);
    await testBed.done(letters.publish(aFailureReport(), LETTER));
    expect(testBed.publishProblems.all).toEqual([]);
    expect(changes).toHaveBeenCalledTimes(2);
    leave();
    testBed.publishProblems.failed(DLT, first);
    expect(changes).toHaveBeenCalledTimes(2);
  });

  it('does not add a topic for a cancelled write', async () => {
    await testBed.topic(DLT);
    testBed.broker.faults.loseRequests({ operation: 'produce', topic: DLT });
    const work = new AbortController();
    const writing = publisher().publish(aFailureReport(), LETTER, work.signal);
    writing.catch(() => undefined);
    await testBed.runtime.advance(100);
    work.abort(new Error('the partition was taken away'));
    await testBed.failureOf(writing);
    expect(testBed.publishProblems.all).toEqual([]);
  });

  it('removes all topics when the binding stops, even if a listener throws', () => {
    const listener = jest.fn();
    testBed.publishProblems.onChange(() => {
      throw new Error('no');
    });
    testBed.publishProblems.onChange(listener);
    testBed.publishProblems.failed(DLT, new Error('gone'));
    testBed.publishProblems.clear();
    testBed.publishProblems.clear();
    expect(testBed.publishProblems.all).toEqual([]);
    expect(listener).toHaveBeenCalledTimes(2);
    const threw = testBed.lines.filter(({ message }) => message.startsWith('A listener'));
    expect(threw.map(({ level }) => level)).toEqual(['error', 'error']);
  });

  it('logs the first failure with the waiting record and what to do, and logs the end', async () => {
    const letters = publisher({ publishTimeoutMs: 1_000 });
    for (let tries = 0; tries < 3; tries++)
      await testBed.failureOf(letters.publish(aFailureReport(), LETTER));
    expect(testBed.lines).toMatchObject([
      { level: 'error', context: { binding: 'orders', to: DLT } },
    ]);
    const { message } = testBed.lines[0]!;
    expect(message).toContain("binding 'orders' (orders.events-3-17)");
    expect(message).toContain(`could not be written to topic '${DLT}'`);
    expect(message).toContain('stays where it is and is tried again');
    expect(JSON.stringify(testBed.lines)).not.toContain('no stock');
    await testBed.topic(DLT);
    await testBed.done(letters.publish(aFailureReport(), LETTER));
    await testBed.done(letters.publish(aFailureReport(), LETTER));
    expect(testBed.lines.slice(1)).toEqual([
      {
        level: 'info',
        message: `Topic '${DLT}' of binding 'orders' can be written to again`,
        context: { binding: 'orders', to: DLT, afterMs: expect.any(Number) },
      },
    ]);
  });

  it.each([30_000, 180_000])(
    'keeps a topic until the next attempt should have ended, with %d ms per attempt',
    async (publishTimeoutMs) => {
      const problem = testBed.tracker(publishTimeoutMs);
      problem.failed(DLT, new Error('gone'));
      const since = testBed.runtime.now();
      await testBed.runtime.advance(60_000 + publishTimeoutMs);
      expect(problem.all).toMatchObject([{ topic: DLT, since }]);
      problem.failed(DLT, new Error('gone'));
      expect(problem.all).toMatchObject([{ since }]);
      expect(linesOf('error')).toHaveLength(1);
      await testBed.runtime.advance(120_000 + publishTimeoutMs);
      expect(problem.all).toEqual([]);
      problem.failed(DLT, new Error('gone'));
      expect(problem.all).toMatchObject([{ since: testBed.runtime.now() }]);
      // One line when it began, one for the second failure, and one when it has begun again.
      expect(linesOf('error')).toHaveLength(3);
      expect(linesOf('info')).toEqual([expect.stringContaining('Nothing writes to topic')]);
    },
  );
});

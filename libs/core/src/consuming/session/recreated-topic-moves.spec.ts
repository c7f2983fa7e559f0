import {
  ConsumingTestBed,
  type SessionUnderTest,
  type SessionUnderTestOptions,
  upTo,
} from './consuming-test-bed.spec-support.js';

/** Time after which the group has taken the partitions of a deleted topic away. */
const UNTIL_NOTICED_MS = 90_000;

const isHeld = ({ log }: SessionUnderTest): boolean =>
  log.some(({ message }) => message === 'A partition cannot be read on');

describe('the partition of a recreated topic that moves to another session at once', () => {
  let testBed: ConsumingTestBed;
  beforeEach(async () => {
    testBed = await ConsumingTestBed.of();
  });
  afterEach(() => testBed.end());

  const latest: SessionUnderTestOptions['consumer'] = {
    offsetReset: 'latest',
    groupProtocol: 'consumer',
  };

  /**
   * Recreates a topic that two sessions read, and ends the session that gets the new topic before
   * it has read it. Returns the session that gets it then.
   */
  async function recreateAndMove(
    onTopicRecreated: SessionUnderTestOptions['onTopicRecreated'],
  ): Promise<SessionUnderTest> {
    const options: SessionUnderTestOptions = { onTopicRecreated, consumer: latest };
    const sessions = [
      await testBed.started(undefined, { ...options, clientId: 'one' }),
      await testBed.started(undefined, { ...options, clientId: 'two' }),
    ];
    await testBed.runtime.advance(10_000);
    await testBed.write(5);
    await testBed.untilCommitted(5);
    await testBed.recreate(1, UNTIL_NOTICED_MS);
    await testBed.write(3);
    await testBed.until(() => sessions.some(isHeld));
    const [first, next] = sessions.toSorted((one, other) => +isHeld(other) - +isHeld(one));
    expect(isHeld(next!)).toBe(false);
    next!.handled.length = 0;
    await testBed.done(first!.session.close());
    await testBed.runtime.advance(20_000);
    return next!;
  }

  it("is read from its beginning with 'earliest', though the first session has committed its end", async () => {
    const next = await recreateAndMove('earliest');
    await testBed.write(2);
    await testBed.untilCommitted(5);
    expect(next.offsets()).toEqual(upTo(5));
  });

  it("is read from the end that the next session finds with 'latest'", async () => {
    const next = await recreateAndMove('latest');
    await testBed.write(2);
    await testBed.untilCommitted(5);
    expect(next.offsets()).toEqual(upTo(2, 3));
  });

  it("stays stopped with 'stop'", async () => {
    const next = await recreateAndMove('stop');
    await testBed.write(2);
    await testBed.runtime.advance(60_000);
    expect(next.offsets()).toEqual([]);
    expect(next.session.status.partitionPauses).toMatchObject([
      { error: { code: 'TOPIC_RECREATED' } },
    ]);
  });

  it('is read by a session that starts later, with offsetReset, and then by its successor', async () => {
    const next = await recreateAndMove('stop');
    await testBed.done(next.session.close());
    await testBed.write(2);
    const later = await testBed.started(undefined, { onTopicRecreated: 'stop', consumer: latest });
    await testBed.untilCommitted(5);
    expect(later.offsets()).toEqual(upTo(2, 3));
    expect(await testBed.commitOf()).toMatchObject({ offset: 5, metadata: '' });
  });
});

describe('a partition that is added to a recreated topic', () => {
  it.each(['classic', 'consumer'] as const)(
    "is read from its first record, also with onTopicRecreated: 'latest' (%s)",
    async (groupProtocol) => {
      const testBed = await ConsumingTestBed.of(2);
      const member = await testBed.started(undefined, {
        onTopicRecreated: 'latest',
        consumer: { offsetReset: 'latest', groupProtocol },
      });
      await testBed.recreate(1, UNTIL_NOTICED_MS);
      await testBed.write(3);
      await testBed.runtime.advance(60_000);
      await testBed.growTo(2);
      await testBed.write(4, 1);
      await testBed.runtime.advance(10_000);
      expect(member.offsets(0)).toEqual([]);
      expect(member.offsets(1)).toEqual(upTo(4));
      expect(await testBed.committed(1)).toBe(4);
      await testBed.end();
    },
  );
});

import { VirtualRuntime } from '../../runtime/index.js';
import { Metadata } from './metadata.js';

const MAX_AGE_MS = 10_000;

class MetadataUnderTest {
  readonly runtime = new VirtualRuntime();
  /** The topics of each request. */
  readonly requests: (readonly string[])[] = [];
  missing: readonly string[] = [];
  readonly metadata = new Metadata(this.runtime, (topics) => {
    this.requests.push(topics);
    return Promise.resolve({
      brokers: [],
      clusterId: null,
      controllerId: 1,
      topics: topics.map((name) => ({
        code: this.missing.includes(name) ? 3 : 0,
        name,
        id: null,
        internal: false,
        partitions: [],
      })),
    });
  });
}

describe('Metadata', () => {
  it('loads the topics of many sessions in shared requests', async () => {
    const { runtime, metadata, requests } = new MetadataUnderTest();
    const topics = Array.from({ length: 80 }, (_, index) => `t-${index}`);
    await metadata.load(topics, MAX_AGE_MS);
    requests.length = 0;
    const minutes = 5;
    for (let second = 0; second < minutes * 60; second++) {
      await runtime.advance(1_000);
      // Eight sessions load their topic in each second; each of them does so every ten seconds.
      const loading = topics.filter((_, index) => index % 10 === second % 10);
      await Promise.all(loading.map((topic) => metadata.load([topic], MAX_AGE_MS)));
    }
    expect(requests.length).toBeLessThanOrEqual((minutes * 60_000) / (MAX_AGE_MS / 2));
    expect(new Set(requests.flat())).toEqual(new Set(topics));
  });

  it('stops requesting a deleted topic until a session requests it again', async () => {
    const subject = new MetadataUnderTest();
    subject.missing = ['gone'];
    await subject.metadata.load(['here', 'gone'], MAX_AGE_MS);
    await subject.runtime.advance(MAX_AGE_MS + 1);
    await subject.metadata.load(['here'], MAX_AGE_MS);
    expect(subject.requests.at(-1)).toEqual(['here']);
    await subject.metadata.load(['gone'], MAX_AGE_MS);
    expect(subject.requests.at(-1)).toEqual(['gone']);
  });
});

import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { UnmarkedRecords } from './unmarked-records.js';

let runtime: VirtualRuntime;
let unmarked: UnmarkedRecords;

beforeEach(() => {
  runtime = new VirtualRuntime();
  unmarked = new UnmarkedRecords(1_000, runtime);
});

describe('UnmarkedRecords', () => {
  it('knows a key until it expires', async () => {
    unmarked.add('a');
    await runtime.advance(999);
    expect(unmarked.has('a')).toBe(true);
    await runtime.advance(1);
    expect(unmarked.has('a')).toBe(false);
  });

  it('extends a key that is added again', async () => {
    unmarked.add('a');
    await runtime.advance(600);
    unmarked.add('a');
    await runtime.advance(600);
    expect(unmarked.has('a')).toBe(true);
  });

  it('forgets a key that is deleted', () => {
    unmarked.add('a');
    unmarked.add('b');
    unmarked.delete('a');
    expect(['a', 'b', 'c'].map((key) => unmarked.has(key))).toEqual([false, true, false]);
  });

  it('drops expired keys from memory', async () => {
    for (const key of ['a', 'b', 'c']) unmarked.add(key);
    await runtime.advance(500);
    unmarked.add('a');
    await runtime.advance(500);
    unmarked.add('d');
    expect(unmarked.size).toBe(2);
    expect(unmarked.has('a')).toBe(true);
  });

  it('holds at most ten thousand keys, and drops the oldest beyond them', () => {
    for (let index = 0; index <= 10_001; index++) unmarked.add(`${index}`);
    expect(unmarked.size).toBe(10_000);
    expect(['1', '2', '10001'].map((key) => unmarked.has(key))).toEqual([false, true, true]);
  });
});

import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { UnmarkedRecords } from './unmarked-records.js';

let runtime: VirtualRuntime;
let unmarked: UnmarkedRecords;

beforeEach(() => {
  runtime = new VirtualRuntime();
  unmarked = new UnmarkedRecords(1_000, runtime);
});

describe('The records that could not be marked', () => {
  it('are known until their time is over, and not any more from then on', async () => {
    unmarked.add('a');
    await runtime.advance(999);
    expect(unmarked.has('a')).toBe(true);
    await runtime.advance(1);
    expect(unmarked.has('a')).toBe(false);
  });

  it('are known for longer when they come again', async () => {
    unmarked.add('a');
    await runtime.advance(600);
    unmarked.add('a');
    await runtime.advance(600);
    expect(unmarked.has('a')).toBe(true);
  });

  it('are forgotten one by one once they are marked', () => {
    unmarked.add('a');
    unmarked.add('b');
    unmarked.delete('a');
    expect(['a', 'b', 'c'].map((key) => unmarked.has(key))).toEqual([false, true, false]);
  });

  it('take no memory once their time is over', async () => {
    for (const key of ['a', 'b', 'c']) unmarked.add(key);
    await runtime.advance(500);
    unmarked.add('a');
    await runtime.advance(500);
    unmarked.add('d');
    expect(unmarked.size).toBe(2);
    expect(unmarked.has('a')).toBe(true);
  });

  it('are ten thousand at most: of more, the oldest are forgotten', () => {
    for (let index = 0; index <= 10_001; index++) unmarked.add(`${index}`);
    expect(unmarked.size).toBe(10_000);
    expect(['1', '2', '10001'].map((key) => unmarked.has(key))).toEqual([false, true, true]);
  });
});

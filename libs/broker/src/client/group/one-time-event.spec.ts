import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Deferred } from '../../runtime/index.js';
import { OneTimeEvent } from './one-time-event.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('OneTimeEvent.raceWith', () => {
  it('resolves with the event or the promise, whichever comes first', async () => {
    const point = new OneTimeEvent<string>();
    const never = new Deferred<string>();
    expect(await point.raceWith(Promise.resolve('promise'))).toBe('promise');
    const race = point.raceWith(never.promise);
    point.fire('point');
    expect(await race).toBe('point');
    expect(await point.raceWith(never.promise)).toBe('point');
  });

  it('rejects with the error of the promise', async () => {
    const point = new OneTimeEvent<string>();
    await expect(point.raceWith(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('keeps no reference to finished races, however long the event does not fire', async () => {
    const point = new OneTimeEvent<string>();
    const results: WeakRef<object>[] = [];
    const race = async (): Promise<void> => {
      const result = {};
      results.push(new WeakRef(result));
      await point.raceWith(Promise.resolve(result));
    };
    for (let count = 0; count < 20; count++) await race();
    await new Promise<void>((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(results.filter((result) => result.deref() !== undefined).length).toBeLessThan(3);
    point.fire('in the end');
  });
});

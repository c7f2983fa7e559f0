import { Deferred } from '@nest-event-bus/broker/runtime';
import { BindingLocks } from './binding-locks.js';

describe('BindingLocks', () => {
  it('runs the commands of one binding in turn, after a failing one too', async () => {
    const locks = new BindingLocks();
    const order: string[] = [];
    const gate = new Deferred();
    const first = locks.run('a', async () => {
      await gate.promise;
      order.push('first');
      throw new Error('first failed');
    });
    const second = locks.run('a', async () => void order.push('second'));
    gate.resolve();
    await expect(first).rejects.toThrow('first failed');
    await second;
    expect(order).toEqual(['first', 'second']);
  });

  it('never makes one binding wait for another', async () => {
    const locks = new BindingLocks();
    const gate = new Deferred();
    const stuck = locks.run('a', () => gate.promise);
    await expect(locks.run('b', async () => 'done')).resolves.toBe('done');
    gate.resolve();
    await stuck;
  });

  it('leaves nothing behind when no command runs', async () => {
    const locks = new BindingLocks();
    const running = [1, 2, 3].map((number) => locks.run('a', async () => number));
    expect(locks.size).toBe(1);
    await Promise.all(running);
    expect(locks.size).toBe(0);
  });
});

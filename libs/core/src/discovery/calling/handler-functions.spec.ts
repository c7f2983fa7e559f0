import { Subject } from 'rxjs';
import type { HandlerDefinition } from '../exploring/handler-definition.js';
import { recordHandler } from './handler-functions.js';

describe('A registered function that returns an Observable', () => {
  const handlerOf = (work: Subject<number>): HandlerDefinition =>
    recordHandler('orders', () => work);

  it('is done when the Observable completes', async () => {
    const work = new Subject<number>();
    let isDone = false;
    const handled = Promise.resolve(handlerOf(work).invoke([], [])).then(() => (isDone = true));
    await Promise.resolve();
    expect([work.observed, isDone]).toEqual([true, false]);
    work.complete();
    await handled;
  });

  it('fails when the Observable fails', async () => {
    const work = new Subject<number>();
    const handled = handlerOf(work).invoke([], []);
    work.error(new Error('stock is empty'));
    await expect(handled).rejects.toThrow('stock is empty');
  });
});

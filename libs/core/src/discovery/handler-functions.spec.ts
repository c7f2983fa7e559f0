import { Subject } from 'rxjs';
import type { HandlerDefinition } from './handler-definition.js';
import { recordHandler, sliceHandler } from './handler-functions.js';

describe('a function that was registered and returns an Observable', () => {
  const ways: readonly (readonly [string, (work: Subject<number>) => HandlerDefinition])[] = [
    ['for each record', (work) => recordHandler('orders', () => work)],
    ['for a slice', (work) => sliceHandler('orders', () => work)],
  ];

  it.each(ways)('%s is done when it completes', async (_name, handlerOf) => {
    const work = new Subject<number>();
    let isDone = false;
    const handled = Promise.resolve(handlerOf(work).invoke([], [])).then(() => (isDone = true));
    await Promise.resolve();
    expect([work.observed, isDone]).toEqual([true, false]);
    work.complete();
    await handled;
  });

  it.each(ways)('%s fails when it fails', async (_name, handlerOf) => {
    const work = new Subject<number>();
    const handled = handlerOf(work).invoke([], []);
    work.error(new Error('stock is empty'));
    await expect(handled).rejects.toThrow('stock is empty');
  });
});

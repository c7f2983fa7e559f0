import { getEventListeners } from 'node:events';
import { abortable, Deferred } from '../../runtime/index.js';
import { withEitherSignal } from './either-signal.js';

describe('withEitherSignal', () => {
  const never = new Deferred<never>().promise;
  const work = (signal: AbortSignal) => abortable(never, signal);

  it.each([0, 1])('aborts with the reason of the signal that aborts first: %i', async (index) => {
    const controls = [new AbortController(), new AbortController()] as const;
    const working = withEitherSignal(controls[0].signal, controls[1].signal, work);
    controls[index]?.abort(new Error(`reason ${index}`));
    await expect(working).rejects.toThrow(`reason ${index}`);
  });

  it('aborts at once if one of the signals has aborted before', async () => {
    const aborted = AbortSignal.abort(new Error('before'));
    const { signal } = new AbortController();
    await expect(withEitherSignal(signal, aborted, work)).rejects.toThrow('before');
  });

  it('removes its listeners from both signals', async () => {
    const { signal } = new AbortController();
    const { signal: other } = new AbortController();
    await withEitherSignal(signal, other, () => Promise.resolve());
    expect([signal, other].map((each) => getEventListeners(each, 'abort').length)).toEqual([0, 0]);
  });
});

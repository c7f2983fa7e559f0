import { drainBeforeDestroy } from './host-hooks.js';

describe('a host of handlers', () => {
  const destroy = (host: object): unknown =>
    (host as { onModuleDestroy(): unknown }).onModuleDestroy();

  it('is destroyed only after the drain', async () => {
    const steps: string[] = [];
    class Host {
      name = 'host';
      onModuleDestroy(): void {
        steps.push(`destroyed ${this.name}`);
      }
    }
    const host = new Host();
    const drained = async (): Promise<void> => {
      await Promise.resolve();
      steps.push('drained');
    };
    expect(drainBeforeDestroy(host, drained)).toBe(true);
    await destroy(host);
    expect(steps).toEqual(['drained', 'destroyed host']);
  });

  it('needs no hook of its own, and shows no new property', async () => {
    const drain = jest.fn(() => Promise.resolve());
    const host = { a: 1 };
    drainBeforeDestroy(host, drain);
    await destroy(host);
    expect(drain).toHaveBeenCalledTimes(1);
    expect(Object.keys(host)).toEqual(['a']);
  });

  it('that is frozen is left alone, and said to be', () => {
    expect(drainBeforeDestroy(Object.freeze({}), () => Promise.resolve())).toBe(false);
  });
});

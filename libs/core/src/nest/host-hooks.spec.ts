import { drainBeforeDestroy } from './host-hooks.js';

describe('drainBeforeDestroy()', () => {
  const destroy = (host: object): unknown =>
    (host as { onModuleDestroy(): unknown }).onModuleDestroy();

  it('destroys the instance only after the drain', async () => {
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

  it('works without an own hook and adds no visible property', async () => {
    const drain = jest.fn(() => Promise.resolve());
    const host = { a: 1 };
    drainBeforeDestroy(host, drain);
    await destroy(host);
    expect(drain).toHaveBeenCalledTimes(1);
    expect(Object.keys(host)).toEqual(['a']);
  });

  it('returns false for a frozen instance and leaves it unchanged', () => {
    expect(drainBeforeDestroy(Object.freeze({}), () => Promise.resolve())).toBe(false);
  });
});

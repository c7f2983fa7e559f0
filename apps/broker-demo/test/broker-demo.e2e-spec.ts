import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** What a newcomer types. */
const npmStart = () =>
  promisify(execFile)('npm', ['start', '--silent'], {
    cwd: join(__dirname, '../../..'),
    timeout: 60_000,
  });

describe('npm start', () => {
  let output: string;

  beforeAll(async () => {
    ({ stdout: output } = await npmStart());
  }, 90_000);

  it('shows the group sharing the partitions', () => {
    expect(output).toMatch(/Anna has partitions \d, \d\n {2}Ben has partitions \d, \d\n/);
  });

  it('cooks each of the 40 orders exactly once, those of one customer in order', () => {
    const lines = [...output.matchAll(/cooks for (\w+) \(partition \d\): (.+)/g)];
    const cooked = new Map<string, number[]>();
    for (const [, customer = '', orders = ''] of lines) {
      const numbers = orders.split(', ').map((order) => Number(order.replace('order ', '')));
      cooked.set(customer, [...(cooked.get(customer) ?? []), ...numbers]);
    }
    for (const numbers of cooked.values()) {
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
    expect([...cooked.values()].flat().sort((a, b) => a - b)).toEqual(
      Array.from({ length: 40 }, (_, index) => index + 1),
    );
  });

  it('moves the partitions of the member that leaves', () => {
    expect(output).toContain('Anna has partitions 0, 1, 2, 3\n  Ben has nothing\n');
  });

  it('has committed everything', () => {
    const offsets = [...output.matchAll(/next is offset (\d+)/g)].map(([, offset]) =>
      Number(offset),
    );
    expect(offsets.reduce((sum, offset) => sum + offset, 0)).toBe(40);
  });
});

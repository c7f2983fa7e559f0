import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeWithKafka } from '../../test/integration/support/index.js';

const root = join(__dirname, '../..');
const examples = join(root, 'examples');

/** What each example prints, in this order. */
const EXPECTED: Readonly<Record<string, readonly RegExp[]>> = {
  handlers: [/order 1 placed by Anna, key anna/, /order 1 cancelled, key anna, attempt 1/],
  'retries-and-dead-letters': [
    /payment 1: tier 0, call 1/,
    /dead letter: \S+, CardDeclined, 1 calls/,
    /payment 2: tier 0, call 1/,
    /payment 2: tier 0, call 2/,
    /payment 2: tier 1, call 1/,
    /dead letter: \S+, Error, \d calls/,
  ],
  concurrency: [/100 records, at most 10 handlers at once/, /20 of 20 keys in order/],
  'batch-handlers': [/stored 1, 2, 3, 4, 5 after 1 failure/],
  idempotency: [/pays a/, /pays b/, /2 payments for 3 records/],
  transactions: [/3 calls, invoices 1, 2/],
  'circuit-breaker': [/the circuit opens/, /paid 1, 2, 3, in order/],
  'lifecycle-control': [
    /PAUSED: handled 1$/,
    /RUNNING: handled 1, 2$/,
    /registered at run time: handled 3$/,
  ],
};

const run = promisify(execFile);

async function linesOf(example: string, brokers: string): Promise<readonly string[]> {
  const { stdout } = await run('node', ['tools/run-example.mjs', example], {
    cwd: root,
    env: { ...process.env, KAFKA_BROKERS: brokers, NO_COLOR: '1' },
    timeout: 60_000,
  });
  return stdout.split('\n').filter((line) => line !== '');
}

function expectInOrder(lines: readonly string[], patterns: readonly RegExp[]): void {
  let from = 0;
  for (const pattern of patterns) {
    const index = lines.findIndex((line, at) => at >= from && pattern.test(line));
    if (index === -1) throw new Error(`No ${pattern} behind line ${from} of:\n${lines.join('\n')}`);
    from = index + 1;
  }
}

describe('The examples', () => {
  beforeAll(async () => {
    await run('npx', ['tsc', '-b', 'examples'], { cwd: root });
  }, 180_000);

  it('are all listed in this spec', () => {
    const folders = readdirSync(examples, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .filter((name) => !['dist', 'support', 'test'].includes(name));
    expect(folders.toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
  });

  it.each(Object.entries(EXPECTED))(
    'run on the embedded broker: %s',
    async (example, patterns) => {
      expectInOrder(await linesOf(example, ''), patterns);
    },
    60_000,
  );

  describeWithKafka('with a real Kafka', (kafka) => {
    it.each(Object.entries(EXPECTED))(
      'run: %s',
      async (example, patterns) => {
        expectInOrder(await linesOf(example, kafka.brokers.join(',')), patterns);
      },
      60_000,
    );
  });
});

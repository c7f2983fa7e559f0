import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Runs the command of the README on a free port. */
class Demo {
  readonly lines: string[] = [];
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;

  constructor() {
    this.#child = spawn('npm', ['start', '--silent'], {
      cwd: join(__dirname, '../../..'),
      env: { ...process.env, PORT: '0', KAFKA_BROKERS: '', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
      // Signals go to the whole process group, as from a terminal, because npm does not always
      // forward them.
      detached: true,
    });
    const output = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
    output.on('line', (line) => this.lines.push(line));
    this.ended = new Promise((resolve) => this.#child.once('exit', (code) => resolve(code)));
  }

  async line(pattern: RegExp): Promise<RegExpExecArray> {
    for (const deadline = Date.now() + 60_000; ;) {
      for (const line of this.lines) {
        const match = pattern.exec(line);
        if (match) return match;
      }
      if (Date.now() > deadline) throw new Error(`No ${pattern} in:\n${this.lines.join('\n')}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  interrupt(): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGINT');
  }
}

describe('npm start', () => {
  let demo: Demo;
  let url: string;

  beforeAll(async () => {
    demo = new Demo();
    const [, address = ''] = await demo.line(/(http:\/\/localhost:\d+)\/orders/);
    url = address;
  }, 90_000);
  afterAll(() => demo.interrupt());

  it.each([
    [1, 'Anna'],
    [2, 'Ben'],
    [3, 'Chris'],
    [4, 'Anna'],
  ])('starts an application that packs order %i of %s', async (id, customer) => {
    await demo.line(new RegExp(`order ${id} of ${customer} is being packed`));
  });

  it('starts an application that logs no warning', () => {
    expect(demo.lines.filter((line) => /WARN|ERROR/.test(line))).toEqual([]);
  });

  it('starts an application that packs an order that is posted by HTTP', async () => {
    const response = await fetch(`${url}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 5, customer: 'Dora' }),
    });
    expect(response.status).toBe(201);
    await demo.line(/order 5 of Dora is being packed/);
  });

  it('starts an application whose health is UP', async () => {
    const response = await fetch(`${url}/health`);
    expect(response.status).toBe(200);
    await expect(response.json()).resolves.toMatchObject({
      status: 'ok',
      details: {
        eventbus: {
          status: 'up',
          state: 'UP',
          bindings: { orders: { state: 'RUNNING', status: 'UP' } },
        },
      },
    });
  });

  it('drains and commits all records after Ctrl-C', async () => {
    demo.interrupt();
    await demo.ended;
    const [released = ''] = await demo.line(
      /Partitions released {"container":"eventbus-orders".*$/,
    );
    const committed = [...released.matchAll(/"committed":(\d+)/g)].map(([, offset]) =>
      Number(offset),
    );
    expect(committed.reduce((sum, offset) => sum + offset, 0)).toBe(5);
  }, 30_000);
});

import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const ROOT = join(__dirname, '../../../..');

/** Waits are long: the machine may be busy with brokers and databases. */
const WAIT_MS = 120_000;

/** Runs the demo on a free port, as a user does. */
export class DemoProcess {
  readonly lines: string[] = [];
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;

  constructor(environment: Readonly<Record<string, string>>, command: readonly string[] = START) {
    const [file = '', ...args] = command;
    this.#child = spawn(file, args, {
      cwd: ROOT,
      env: { ...process.env, PORT: '0', KAFKA_BROKERS: '', NO_COLOR: '1', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Signals go to the whole process group, as from a terminal, because npm does not always
      // forward them.
      detached: true,
    });
    // Nest writes errors to stderr.
    for (const output of [this.#child.stdout, this.#child.stderr])
      createInterface({ input: output! }).on('line', (line) => this.lines.push(line));
    this.ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
  }

  /** Returns the address of the demo, once it has told it. */
  async url(): Promise<string> {
    const [, url = ''] = await this.line(/(http:\/\/localhost:\d+)\/health/);
    return url;
  }

  async line(pattern: RegExp): Promise<RegExpExecArray> {
    const find = (): RegExpExecArray | undefined => {
      for (const line of this.lines) {
        const match = pattern.exec(line);
        if (match) return match;
      }
      return undefined;
    };
    return eventually(find, (match) => match !== undefined).then(
      (match) => match!,
      () => {
        throw new Error(`No ${pattern} in:\n${this.lines.join('\n')}`);
      },
    );
  }

  /** Presses Ctrl-C, and waits until the process has ended. Kills a process that does not end. */
  async end(): Promise<'ended' | 'hangs'> {
    this.#signal('SIGINT');
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'hangs'>((resolve) => {
      timer = setTimeout(() => resolve('hangs'), WAIT_MS);
    });
    const how = await Promise.race([this.ended.then(() => 'ended' as const), late]);
    clearTimeout(timer);
    if (how === 'hangs') this.#signal('SIGKILL');
    return how;
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, signal);
  }
}

const START = ['node', 'apps/orders/dist/main.js'];

/** Repeats a question until its answer is right, and returns the answer. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  isRight: (answer: T) => boolean,
): Promise<T> {
  for (const deadline = Date.now() + WAIT_MS; ;) {
    const answer = await ask();
    if (isRight(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`Not in time: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

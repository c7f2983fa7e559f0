import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { eventually } from '@nest-event-bus/testing';

export interface ChildOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Time for a start. It allows for a busy machine, and for a killed member whose session has not
 * timed out yet.
 */
const STARTS_WITHIN_MS = 120_000;

/** A process that runs a TypeScript file, and its output. */
export class Child {
  #hasEnded = false;
  stdout = '';
  stderr = '';
  readonly ended: Promise<number | null>;
  readonly #process: ReturnType<typeof spawn>;

  constructor(script: string, { args = [], env = {} }: ChildOptions = {}) {
    const loader = join(__dirname, '../../../support/run-typescript.mjs');
    this.#process = spawn(process.execPath, ['--import', loader, script, ...args], {
      env: { ...process.env, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process.stdout?.on('data', (text: Buffer) => (this.stdout += text.toString()));
    this.#process.stderr?.on('data', (text: Buffer) => (this.stderr += text.toString()));
    this.ended = new Promise((resolve) =>
      this.#process.once('close', (code) => {
        this.#hasEnded = true;
        resolve(code);
      }),
    );
  }

  async hasPrinted(text: string): Promise<void> {
    await eventually(() => this.stdout.includes(text) || this.#hasEnded, {
      description: `the child to print '${text}'`,
      timeoutMs: STARTS_WITHIN_MS,
    });
    if (!this.stdout.includes(text))
      throw new Error(
        `The child ended without printing '${text}'. Output: ${this.stdout}${this.stderr}`,
      );
  }

  terminate(): void {
    this.#process.kill('SIGTERM');
  }

  /** Suspends the process until `resume`. Its clock goes on meanwhile. */
  suspend(): void {
    this.#process.kill('SIGSTOP');
  }

  resume(): void {
    this.#process.kill('SIGCONT');
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import type { MemberEvent, MemberOrder, MemberSettings } from './member-messages.js';

const LOADER = join(__dirname, '../../../integration/support/run-typescript.mjs');
const PROGRAM = join(__dirname, 'group-member.ts');

/** A group member in a process of its own, which can be killed. */
export class MemberProcess {
  readonly events: MemberEvent[] = [];
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #endedAt: number | undefined;

  constructor(readonly settings: MemberSettings) {
    const child = spawn(process.execPath, ['--import', LOADER, PROGRAM, JSON.stringify(settings)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) =>
      this.events.push(JSON.parse(line) as MemberEvent),
    );
    // 'close' follows the last line of output; 'exit' may precede it.
    this.#closed = once(child, 'close').then(() => (this.#endedAt ??= realRuntime.now()));
  }

  get name(): string {
    return this.settings.name;
  }

  /** Undefined while the process runs. */
  get endedAt(): number | undefined {
    return this.#endedAt;
  }

  async send(order: MemberOrder): Promise<void> {
    const before = this.events.length;
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
    await eventually(
      () => this.events.slice(before).some(({ kind }) => kind === 'obeyed' || kind === 'left'),
      { description: `${this.name} to execute "${order.order}"` },
    );
  }

  async leave(): Promise<void> {
    await this.send({ order: 'leave' });
    await this.#closed;
  }

  /** Freezes the process with SIGSTOP: its connections stay open but it does not respond. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (this.#endedAt === undefined) {
      this.#endedAt = realRuntime.now();
      this.#child.kill('SIGKILL');
    }
    await this.#closed;
  }
}

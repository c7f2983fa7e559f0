import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import type { MemberEvent, MemberOrder, MemberSettings } from './member-messages.js';

const LOADER = join(__dirname, '../../../integration/support/run-typescript.mjs');
const PROGRAM = join(__dirname, 'group-member.ts');

/** A member of the group in a process of its own, which can be killed. */
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
    // 'close' comes after the last line, 'exit' may come before it.
    this.#closed = once(child, 'close').then(() => (this.#endedAt ??= realRuntime.now()));
  }

  get name(): string {
    return this.settings.name;
  }

  /** Undefined while the process lives. */
  get endedAt(): number | undefined {
    return this.#endedAt;
  }

  async obey(order: MemberOrder): Promise<void> {
    const before = this.events.length;
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
    await eventually(
      () => this.events.slice(before).some(({ kind }) => kind === 'obeyed' || kind === 'left'),
      { description: `${this.name} to obey "${order.order}"` },
    );
  }

  async leave(): Promise<void> {
    await this.obey({ order: 'leave' });
    await this.#closed;
  }

  /** SIGSTOP: its connections stay open, and it says nothing. */
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

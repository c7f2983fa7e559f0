import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { realRuntime, within } from '@nest-event-bus/broker/runtime';
import type { WorkerReport } from '../../../integration/kafkajs/exactly-once-worker.js';
import type { MembershipName } from '../support/memberships.js';

const LEAVING_MS = 60_000;
const LOADER = join(__dirname, '../../../integration/support/run-typescript.mjs');
const PROGRAM = join(__dirname, 'transforming-worker.ts');

export interface WorkerProcessSettings {
  readonly brokers: readonly string[];
  readonly groupId: string;
  readonly transactionalId: string;
  readonly source: string;
  readonly target: string;
  readonly membership: MembershipName;
  readonly recordsAtOnce: number;
}

/** A transaction worker in a process of its own, which can be killed, frozen and restarted. */
export class WorkerProcess {
  readonly #settings: WorkerProcessSettings;
  readonly #earlierReports: WorkerReport[] = [];
  #child: ChildProcess;
  #report: WorkerReport | undefined;

  constructor(settings: WorkerProcessSettings) {
    this.#settings = settings;
    this.#child = this.#spawn();
  }

  get transactionalId(): string {
    return this.#settings.transactionalId;
  }

  /** Reports of all its processes, each as of its last report. */
  get reports(): readonly WorkerReport[] {
    return this.#report ? [...this.#earlierReports, this.#report] : this.#earlierReports;
  }

  /** Leaves as in a rolling restart: finishes its transaction and leaves its group. */
  async leave(): Promise<void> {
    const child = this.#child;
    const closed = once(child, 'close');
    child.stdin?.write('leave\n');
    await within(realRuntime, LEAVING_MS, closed, () => new Error('A worker did not leave.'));
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }

  /** Starts another process with the same id, as a supervisor would. */
  restart(): void {
    if (this.#report) this.#earlierReports.push(this.#report);
    this.#report = undefined;
    this.#child = this.#spawn();
  }

  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  #spawn(): ChildProcess {
    const settings = JSON.stringify(this.#settings);
    const child = spawn(process.execPath, ['--import', LOADER, PROGRAM, settings], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (this.#child === child) this.#report = JSON.parse(line) as WorkerReport;
    });
    return child;
  }
}

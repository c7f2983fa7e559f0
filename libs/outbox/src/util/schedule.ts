import { IllegalStateError } from '../errors/argument-errors.js';
import type { Runtime, Timer } from '../runtime/runtime.js';

/** Runs a task now and then at an interval after its end. Its timers never keep the process alive. */
export class Schedule {
  #timer: Timer | undefined;
  #state: 'new' | 'started' | 'stopped' = 'new';

  constructor(
    private readonly owner: string,
    private readonly runtime: Pick<Runtime, 'setTimer'>,
    private readonly intervalMs: number,
    /** Never rejects. */
    private readonly task: () => Promise<void>,
  ) {}

  start(): void {
    if (this.#state === 'stopped')
      throw new IllegalStateError(`${this.owner} is closed and cannot start again. Build another.`);
    if (this.#state === 'started') return;
    this.#state = 'started';
    void this.#run();
  }

  stop(): void {
    this.#state = 'stopped';
    this.#timer?.cancel();
  }

  async #run(): Promise<void> {
    await this.task();
    if (this.#state !== 'started') return;
    this.#timer = this.runtime.setTimer(() => void this.#run(), this.intervalMs, {
      background: true,
    });
  }
}

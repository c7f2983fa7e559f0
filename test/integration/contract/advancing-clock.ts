import type { VirtualRuntime } from '@nest-event-bus/broker/runtime';

const STEP_MS = 2;

/** Advances virtual time continuously, as fast as the work that it triggers allows. */
export class AdvancingClock {
  #isRunning = true;
  readonly #finished: Promise<void>;

  constructor(private readonly runtime: VirtualRuntime) {
    this.#finished = this.#run();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#finished;
  }

  async #run(): Promise<void> {
    while (this.#isRunning) await this.runtime.advance(STEP_MS);
  }
}

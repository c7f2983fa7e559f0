import type { VirtualRuntime } from '@nest-event-bus/broker/runtime';

const STEP_MS = 2;

/** Lets virtual time pass by itself, as fast as the work that it sets off allows. */
export class FlowingTime {
  #flowing = true;
  readonly #flow: Promise<void>;

  constructor(private readonly runtime: VirtualRuntime) {
    this.#flow = this.#run();
  }

  async stop(): Promise<void> {
    this.#flowing = false;
    await this.#flow;
  }

  async #run(): Promise<void> {
    while (this.#flowing) await this.runtime.advance(STEP_MS);
  }
}

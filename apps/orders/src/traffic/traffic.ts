import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { settings } from '../settings.js';
import { Books } from './books.js';
import { Shop } from './shop.js';

const TICK_MS = 200;
const SUMMARY_MS = 10_000;

/** Places orders at the rate of the environment, until the shutdown begins. */
@Injectable()
export class Traffic implements BeforeApplicationShutdown {
  readonly #log = new Logger('traffic');
  #timers: NodeJS.Timeout[] = [];
  #owed = 0;
  #isBusy = false;

  constructor(
    private readonly shop: Shop,
    private readonly books: Books,
  ) {}

  start(): void {
    if (settings.ordersPerSecond === 0) return;
    this.#timers = [
      setInterval(() => void this.#tick(), TICK_MS),
      setInterval(() => this.#summarize(), SUMMARY_MS),
    ];
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
  }

  beforeApplicationShutdown(): void {
    this.stop();
  }

  async #tick(): Promise<void> {
    this.#owed += (settings.ordersPerSecond * TICK_MS) / 1_000;
    if (this.#isBusy) return;
    this.#isBusy = true;
    const count = Math.floor(this.#owed);
    this.#owed -= count;
    try {
      await Promise.all(Array.from({ length: count }, () => this.shop.order()));
    } catch (error) {
      // The bus words its errors without payloads.
      this.#log.warn(`Some orders could not be placed: ${(error as Error).message}`);
    } finally {
      this.#isBusy = false;
    }
  }

  #summarize(): void {
    const entries = Object.entries(this.books.entries());
    const text = entries.map(([name, { produced, handled }]) => `${name} ${handled}/${produced}`);
    this.#log.log(`handled of produced: ${text.join(', ')}`);
  }
}

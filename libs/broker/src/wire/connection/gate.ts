/** Lets a limited number through at a time; the others wait in line. */
export class Gate {
  #inside = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(private readonly limit: number) {}

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside >= this.limit) await new Promise<void>((enter) => this.#waiting.push(enter));
    else this.#inside++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#inside--;
    }
  }
}

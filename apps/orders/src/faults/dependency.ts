import { setTimeout as pause } from 'node:timers/promises';

export const DEPENDENCY_MODES = ['healthy', 'slow', 'broken', 'flaky'] as const;
export type DependencyMode = (typeof DEPENDENCY_MODES)[number];

const HEALTHY_MS = 2;
const SLOW_MS = 2_000;

/** Behaves like a service that handlers call. Its mode can be switched while the demo runs. */
export class Dependency {
  mode: DependencyMode = 'healthy';
  #calls = 0;

  constructor(readonly name: string) {}

  async call(signal: AbortSignal): Promise<void> {
    this.#calls += 1;
    await pause(this.mode === 'slow' ? SLOW_MS : HEALTHY_MS, undefined, { signal });
    if (this.mode === 'broken') throw this.#failure('ECONNREFUSED');
    // Every third call fails, so that a test can rely on it.
    if (this.mode === 'flaky' && this.#calls % 3 === 0) throw this.#failure('ETIMEDOUT');
  }

  #failure(code: string): Error {
    return Object.assign(new Error(`${this.name}: connect ${code}`), { code });
  }
}

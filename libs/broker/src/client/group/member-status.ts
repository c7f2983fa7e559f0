import type { SessionStatus } from '../../port/consumer.js';
import type { DriverLogger } from '../../port/driver.js';
import { errorReasonOf } from '../../port/error-text.js';
import type { Runtime } from '../../runtime/index.js';

/**
 * The status that the membership reports. An error is kept until a step succeeds: a retry does not
 * change `retrying` into `joining`, and `since` is the time of the first error.
 */
export class MemberStatus {
  #current: SessionStatus = { state: 'idle' };

  constructor(
    private readonly runtime: Runtime,
    private readonly report: (status: SessionStatus) => void,
    private readonly logger: DriverLogger,
  ) {}

  get state(): SessionStatus['state'] {
    return this.#current.state;
  }

  joining(): void {
    if (this.state === 'idle' || this.state === 'stable')
      this.#become({ state: 'joining', since: this.runtime.now() });
  }

  stable(generation: number): void {
    const current = this.#current;
    if (current.state === 'stable' && current.generation === generation) return;
    this.#become({ state: 'stable', since: this.runtime.now(), generation });
  }

  retrying(error: Error): void {
    const current = this.#current;
    const since = current.state === 'retrying' ? current.since : this.runtime.now();
    this.#become({ state: 'retrying', since, error });
  }

  failed(error: Error): void {
    this.#become({ state: 'failed', since: this.runtime.now(), error });
  }

  #become(status: SessionStatus): void {
    this.#current = status;
    try {
      this.report(status);
    } catch (error) {
      this.logger.error('A status listener threw.', { error: errorReasonOf(error) });
    }
  }
}

import type { WriterHook } from '../spi/writer-hook.js';
import type { LeasedRelay } from './leased-relay.js';

/** Wakes the relay of this process after each commit with events. */
export class RelayWriterHook implements WriterHook {
  constructor(private readonly relay: Pick<LeasedRelay, 'wake'>) {}

  afterCommit(): void {
    this.relay.wake();
  }
}

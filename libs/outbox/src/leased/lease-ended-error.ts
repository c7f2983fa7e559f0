import { OutboxError } from '../errors/outbox-error.js';

/** The lease of an event had too little time left before its listener was called. */
export class LeaseEndedError extends OutboxError {
  readonly code = 'OUTBOX_LEASE_ENDED';
  readonly retriable = true;

  constructor() {
    super(
      'The listener was not called, because the lease had too little time left. The event is leased again. If this repeats, raise leaseMs, or use faster interceptors.',
    );
  }
}

import { errorNameOf, errorSentenceOf, UnknownTopicError } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { CurrentState } from '../../consuming/session/consuming-session.js';
import type { OngoingProblems } from '../../problems/ongoing-problems.js';

/** The container whose sessions are watched. */
export interface WatchedContainer {
  readonly binding: Pick<ResolvedBinding, 'name' | 'provisioning'>;
  readonly id: string;
  readonly tier: number;
  readonly topics: readonly string[];
}

/** A session that reconnects within this time is no problem. */
const RECONNECT_GRACE_MS = 1_000;
/** Time for creating a missing topic, and for joining the group afterwards. */
const CREATION_GRACE_MS = 10_000;

/**
 * Reports when a container cannot consume, and when all its sessions have joined again. The error
 * of one session is reported for all sessions, because nearly always all have the same error.
 */
export class ConnectionWatch {
  readonly #failing = new Set<number>();

  constructor(
    private readonly container: WatchedContainer,
    private readonly problems: Pick<OngoingProblems, 'report' | 'end'>,
  ) {}

  update(sessionIndex: number, { state, error }: CurrentState): void {
    switch (state) {
      case 'retrying':
      case 'failed':
        if (!error) return;
        if (this.#isExpected(error)) return this.#recover(sessionIndex, this.#reachable(error));
        this.#failing.add(sessionIndex);
        this.#report(error);
        return;
      case 'joined':
        return this.#recover(sessionIndex);
      case 'closed':
        // The binding forgets its problems when it is stopped, so nothing is logged.
        this.#failing.delete(sessionIndex);
        return;
      case 'idle':
      case 'joining':
      case 'draining':
        return;
    }
  }

  /**
   * Returns true for a missing retry topic, which is no problem until a record has to be retried.
   * TopicChecks reports missing retry topics.
   */
  #isExpected(error: Error): error is UnknownTopicError {
    return this.container.tier > 0 && error instanceof UnknownTopicError;
  }

  #report(error: Error): void {
    const { binding, id } = this.container;
    const isMissing = error instanceof UnknownTopicError;
    const isCreated = isMissing && binding.provisioning === 'create';
    this.problems.report({
      key: id,
      message: isMissing ? this.#missingTopicMessage(error.topic) : this.#errorMessage(error),
      ended: `${id} consumes again`,
      context: { binding: binding.name, container: id, error: errorNameOf(error) },
      quietMs: Infinity,
      graceMs: isCreated ? CREATION_GRACE_MS : RECONNECT_GRACE_MS,
    });
  }

  /** Ends the problem with the last session that had it. */
  #recover(sessionIndex: number, message?: string): void {
    if (this.#failing.delete(sessionIndex) && this.#failing.size === 0)
      this.problems.end(this.container.id, message);
  }

  /** Only a cluster that answers says that a topic does not exist. */
  #reachable({ topic }: UnknownTopicError): string {
    return `${this.container.id} reaches the brokers again, but topic '${topic}' does not exist`;
  }

  #missingTopicMessage(topic: string): string {
    const { binding } = this.container;
    const remedy =
      binding.provisioning === 'create'
        ? 'Look for the reason why it could not be created, or correct its name'
        : "Create it, correct its name, or set provisioning: 'create'";
    return `Topic '${topic}' of binding '${binding.name}' does not exist, so nothing is read. ${remedy}.`;
  }

  #errorMessage(error: Error): string {
    const { binding, id, topics } = this.container;
    return `Binding '${binding.name}' does not consume topic '${topics.join(', ')}' (${id}): ${errorSentenceOf(error)} It keeps trying; if it goes on, check the brokers, the network and the credentials.`;
  }
}

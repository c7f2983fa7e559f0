/** The reason why a source of Kafka was not used. */
export interface RefusedSource {
  readonly source: string;
  readonly reason: string;
}

/** The requested Kafka cannot be started on this machine: test suites skip with this message. */
export class KafkaUnavailableError extends Error {
  readonly code = 'KAFKA_UNAVAILABLE';
  readonly retriable = false;

  constructor(
    readonly refusals: readonly RefusedSource[],
    /** The software that would be enough, as in "needs Java or Docker". */
    readonly needs = 'Java or Docker',
    options?: ErrorOptions,
  ) {
    const reasons = refusals.map(({ source, reason }) => `${source}: ${reason}`).join('; ');
    super(`skipped: needs ${needs} (${reasons})`, options);
    this.name = new.target.name;
  }
}

/** A broker was launched but did not become ready: never a reason to skip. */
export class KafkaStartError extends Error {
  readonly code = 'KAFKA_START';
  readonly retriable = true;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

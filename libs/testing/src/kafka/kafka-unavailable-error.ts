/** Why one way of getting a Kafka was not taken. */
export interface RefusedSource {
  readonly source: string;
  readonly reason: string;
}

/** No way of getting the Kafka that was asked for is open on this machine: suites skip with this message. */
export class KafkaUnavailableError extends Error {
  readonly code = 'KAFKA_UNAVAILABLE';
  readonly retriable = false;

  constructor(
    readonly refusals: readonly RefusedSource[],
    /** What would do, as in "needs Java or Docker". */
    readonly needs = 'Java or Docker',
    options?: ErrorOptions,
  ) {
    const reasons = refusals.map(({ source, reason }) => `${source}: ${reason}`).join('; ');
    super(`skipped: needs ${needs} (${reasons})`, options);
    this.name = new.target.name;
  }
}

/** A broker that was found and launched, but did not come up: never a reason to skip. */
export class KafkaStartError extends Error {
  readonly code = 'KAFKA_START';
  readonly retriable = true;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

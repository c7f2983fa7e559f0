import { OutboxError, type OutboxLogger } from '@nest-event-bus/outbox';

export type OutboxCommandName =
  'plan' | 'redrive' | 'cancel' | 'purge' | 'unblock-key' | 'skip-key';

/** Who gives a command, and why. */
export interface OutboxCommandNote {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** A command of an operator, for the audit. */
export interface OutboxCommand extends OutboxCommandNote {
  readonly command: OutboxCommandName;
  readonly at: number;
  /** The plan, the operation or the key. */
  readonly subject: string;
  readonly outcome: 'done' | 'failed';
  /** The number of events that the command selects or has changed. */
  readonly events?: number;
  /** The code of the error of a command that has failed. */
  readonly code?: string;
}

export interface CommandLogParts {
  readonly logger: OutboxLogger;
  readonly now: () => number;
  readonly onCommand?: ((command: OutboxCommand) => void) | undefined;
}

/** Runs commands, and tells who gave them, why, and how they ended. */
export class CommandLog {
  constructor(private readonly parts: CommandLogParts) {}

  async run<T>(
    command: OutboxCommandName,
    subject: string,
    { by, reason }: OutboxCommandNote,
    act: () => Promise<T>,
    eventsOf: (result: T) => number,
  ): Promise<T> {
    const entry = { command, at: this.parts.now(), subject, by, reason };
    try {
      const result = await act();
      this.#tell({ ...entry, outcome: 'done', events: eventsOf(result) });
      return result;
    } catch (error) {
      const code = error instanceof OutboxError ? error.code : 'UNKNOWN';
      this.#tell({ ...entry, outcome: 'failed', code });
      throw error;
    }
  }

  /** A listener that throws changes nothing of the command. */
  #tell(command: OutboxCommand): void {
    const { logger, onCommand } = this.parts;
    logger.log(`A command was given to the outbox: ${JSON.stringify(command)}`);
    try {
      onCommand?.(command);
    } catch (error) {
      logger.error(
        `onCommand of the outbox has thrown ${error instanceof Error ? error.name : typeof error}. The command is not changed by it.`,
      );
    }
  }
}

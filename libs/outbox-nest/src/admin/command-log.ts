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
  /** A redrive is told twice: when it has started, and when it has ended. */
  readonly outcome: 'started' | 'done' | 'cancelled' | 'failed';
  /** The number of events that the command selects or has changed, also before it has failed. */
  readonly events?: number;
  /** The code of the error of a command that has failed. */
  readonly code?: string;
}

export interface CommandLogParts {
  readonly logger: OutboxLogger;
  readonly now: () => number;
  readonly onCommand?: ((command: OutboxCommand) => void) | undefined;
}

/** The number of events that a command has changed so far. */
interface CommandProgress {
  events?: number;
}

/** Returns the code of the error of a command. */
export const codeOf = (error: unknown): string =>
  error instanceof OutboxError ? error.code : 'UNKNOWN';

/** Runs commands, and tells who gave them, why, and how they ended. */
export class CommandLog {
  constructor(private readonly parts: CommandLogParts) {}

  async run<T>(
    command: OutboxCommandName,
    subject: string,
    { by, reason }: OutboxCommandNote,
    act: (progress: CommandProgress) => Promise<T>,
    eventsOf: (result: T) => number,
    outcome: 'started' | 'done' = 'done',
  ): Promise<T> {
    const entry = { command, at: this.parts.now(), subject, by, reason };
    const progress: CommandProgress = {};
    try {
      const result = await act(progress);
      this.tell({ ...entry, outcome, events: eventsOf(result) });
      return result;
    } catch (error) {
      this.tell({ ...entry, ...progress, outcome: 'failed', code: codeOf(error) });
      throw error;
    }
  }

  /** A listener that throws changes nothing of the command. */
  tell(command: OutboxCommand): void {
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

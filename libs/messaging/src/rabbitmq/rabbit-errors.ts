import {
  AuthenticationError,
  AuthorizationError,
  ConnectionError,
  RefusedError,
  type BrokerError,
} from '@nest-event-bus/broker';

/** The reply code with which RabbitMQ says that something does not exist. */
export const NOT_FOUND = 404;
const ACCESS_REFUSED = 403;
const CONTENT_TOO_LARGE = 311;

export const replyCodeOf = (error: unknown): number | undefined => {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'number' ? code : undefined;
};

/** Returns the error of a connection that could not be opened, or was lost. */
export function connectionErrorOf(cause: unknown, place: string): BrokerError {
  const text = cause instanceof Error ? cause.message : '';
  // The handshake has no reply code: amqplib only repeats the text of the server.
  if (/\b403\b|ACCESS[-_]REFUSED/.test(text))
    return new AuthenticationError(
      `RabbitMQ at ${place} does not accept the user or the password. Correct rabbitmq.url.`,
      { cause },
    );
  if (/\b530\b|NOT[-_]ALLOWED/.test(text))
    return new AuthorizationError(
      `RabbitMQ at ${place} does not let this user into the virtual host. Correct rabbitmq.url, or grant the right.`,
      { cause },
    );
  return new ConnectionError(
    `RabbitMQ at ${place} cannot be reached, or the connection was lost. It is opened again.`,
    { cause },
  );
}

/** Returns the error of an operation that the server has refused by closing the channel. */
export function refusalOf(cause: unknown, what: string): BrokerError {
  const code = replyCodeOf(cause);
  if (code === ACCESS_REFUSED)
    return new AuthorizationError(
      `RabbitMQ does not allow this user to ${what}. Grant the right.`,
      {
        cause,
      },
    );
  const isRetriable = code === undefined || code === CONTENT_TOO_LARGE;
  return new RefusedError(
    `RabbitMQ has refused to ${what}${code === undefined ? '' : ` (reply code ${code})`}. See the log of the server.`,
    isRetriable,
    { cause },
  );
}

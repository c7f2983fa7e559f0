import { errorNameOf, errorReasonOf, hasOwnMessage } from '../../port/error-text.js';

/** kafkajs puts this before the message of a socket's error. */
const SOCKET_ERROR = 'Connection error: ';

/** Codes of Node for sockets, TLS and OpenSSL. */
const NODE_CODE = /^[A-Z][A-Z0-9_]+$/;

/**
 * Returns the reason why a connection failed. Messages of kafkajs are included: it writes them from
 * the answers of the broker and the errors of Node. A socket's error without a code of Node comes
 * from a function in the ssl options, so its message is left out.
 */
export function connectionReasonOf(error: unknown): string {
  if (hasOwnMessage(error) || !errorNameOf(error).startsWith('KafkaJS'))
    return errorReasonOf(error);
  const { message, code } = error as { readonly message: string; readonly code?: unknown };
  const isOfNode = typeof code === 'string' && NODE_CODE.test(code);
  return message.startsWith(SOCKET_ERROR) && !isOfNode ? 'Connection error' : message.trim();
}

import { errorNameOf, errorReasonOf, hasOwnMessage } from '../../port/error-text.js';

/** kafkajs puts this before the message of an error that a socket has emitted. */
const SOCKET_ERROR = 'Connection error: ';

/** kafkajs puts this before the message of an error that the creation of a socket has thrown. */
const CREATION_ERROR = 'Failed to connect: ';

/** Codes of Node for sockets, TLS and OpenSSL. Errors about arguments quote the arguments. */
const NODE_CODE = /^(?!ERR_INVALID)[A-Z][A-Z0-9_]+$/;

const OPENSSL_MESSAGE = /^error:[0-9A-F]{8}:[\w ().:-]+$/;

/**
 * Returns the reason why a connection failed. Messages of kafkajs are included: it writes them from
 * the answers of the broker and the errors of Node. Left out are messages of functions in the ssl
 * options, and those that quote a wrong option.
 */
export function connectionReasonOf(error: unknown): string {
  if (hasOwnMessage(error) || !errorNameOf(error).startsWith('KafkaJS'))
    return errorReasonOf(error);
  const { message, code } = error as { readonly message: string; readonly code?: unknown };
  if (message.startsWith(CREATION_ERROR))
    return OPENSSL_MESSAGE.test(message.slice(CREATION_ERROR.length))
      ? message
      : 'Failed to connect';
  const isOfNode = typeof code === 'string' && NODE_CODE.test(code);
  return message.startsWith(SOCKET_ERROR) && !isOfNode ? 'Connection error' : message.trim();
}

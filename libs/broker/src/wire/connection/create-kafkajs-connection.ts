import Connection from 'kafkajs/src/network/connection.js';
import createSocketFactory from 'kafkajs/src/network/socketFactory.js';
import type { KafkajsConnection } from './kafkajs-connection.js';
import { saslForKafkajs, type SaslSettings } from './oauth-bearer.js';

export interface KafkajsConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  readonly connectionTimeoutMs: number;
  readonly ssl?: unknown;
  readonly sasl?: SaslSettings;
}

/**
 * A limit above every response that this client requests. Without it, a wrong length would make
 * kafkajs buffer bytes without end.
 */
const MAX_RESPONSE_BYTES = 512 * 1024 * 1024;

const silentLogger = {
  namespace: () => silentLogger,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/**
 * Creates a connection of kafkajs without its dangerous behaviour. `onBrokenFrame` gets the error
 * if the received bytes are not a response.
 */
export function createKafkajsConnection(
  options: KafkajsConnectionOptions,
  onBrokenFrame: (error: unknown) => void,
): KafkajsConnection {
  const inner = new Connection({
    host: options.host,
    port: options.port,
    clientId: options.clientId,
    connectionTimeout: options.connectionTimeoutMs,
    // The timeouts of Connection are used instead, because kafkajs checks only every 100 ms and
    // leaves the socket open.
    enforceRequestTimeout: false,
    requestTimeout: 2 ** 31 - 1,
    ssl: options.ssl,
    sasl: options.sasl && saslForKafkajs(options.sasl),
    logger: silentLogger,
    socketFactory: createSocketFactory(),
  }) as KafkajsConnection;
  stopIdlePolling(inner);
  reportBrokenFrames(inner, onBrokenFrame);
  return inner;
}

/**
 * Stops a timer of about 1 ms that kafkajs restarts forever after the first response. With 80 idle
 * connections this timer caused most of the work of the process. It is needed only while requests
 * are queued.
 */
function stopIdlePolling({ requestQueue }: KafkajsConnection): void {
  const schedule = requestQueue.scheduleCheckPendingRequests.bind(requestQueue);
  requestQueue.scheduleCheckPendingRequests = () => {
    if (requestQueue.pending.length > 0) schedule();
  };
}

/**
 * Catches the exceptions of the socket's data handler, because an uncaught exception would end the
 * process.
 */
function reportBrokenFrames(
  inner: KafkajsConnection,
  onBrokenFrame: (error: unknown) => void,
): void {
  const processData = inner.processData.bind(inner);
  inner.processData = (chunk) => {
    try {
      processData(chunk);
      if (inner.bytesNeeded < 4 || inner.bytesNeeded > MAX_RESPONSE_BYTES)
        throw new RangeError(`a response of ${inner.bytesNeeded} bytes was declared`);
    } catch (error) {
      onBrokenFrame(error);
    }
  };
}

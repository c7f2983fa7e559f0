import Connection from 'kafkajs/src/network/connection.js';
import createSocketFactory from 'kafkajs/src/network/socketFactory.js';
import type { KafkajsConnection } from './kafkajs-connection.js';
import { saslForKafkajs, type SaslSettings } from './authentication.js';

export interface KafkajsConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  readonly connectionTimeoutMs: number;
  readonly ssl?: unknown;
  readonly sasl?: SaslSettings;
}

/**
 * A limit above all responses that we request. Without it, a hostile length would make kafkajs
 * buffer without end.
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
 * Creates kafkajs's connection without its dangerous behaviour. `onBrokenFrame` receives the error
 * of bytes that are not a response.
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
    // Our own deadlines are used instead: kafkajs checks every 100 ms and leaves the socket open.
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
 * kafkajs restarts a timer of about 1 ms for ever after the first response. With 80 idle
 * connections this was most of the work of the process. The timer is needed only while requests are
 * queued.
 */
function stopIdlePolling({ requestQueue }: KafkajsConnection): void {
  const schedule = requestQueue.scheduleCheckPendingRequests.bind(requestQueue);
  requestQueue.scheduleCheckPendingRequests = () => {
    if (requestQueue.pending.length > 0) schedule();
  };
}

/** Catches exceptions in the socket's data handler, because they would end the process. */
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

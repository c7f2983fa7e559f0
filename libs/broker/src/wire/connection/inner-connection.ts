import Connection from 'kafkajs/src/network/connection.js';
import createSocketFactory from 'kafkajs/src/network/socketFactory.js';
import type { KafkajsConnection } from './kafkajs-connection.js';
import { saslForKafkajs, type SaslSettings } from './authentication.js';

export interface InnerConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  readonly connectionTimeoutMs: number;
  readonly ssl?: unknown;
  readonly sasl?: SaslSettings;
}

/** Larger than any answer we ask for; a hostile length beyond it must not make us buffer for ever. */
const LARGEST_ANSWER = 512 * 1024 * 1024;

const silentLogger = {
  namespace: () => silentLogger,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** kafkajs's connection without its dangers. `onBrokenFrame` is told of bytes that are no answer. */
export function innerConnection(
  options: InnerConnectionOptions,
  onBrokenFrame: (error: unknown) => void,
): KafkajsConnection {
  const inner = new Connection({
    host: options.host,
    port: options.port,
    clientId: options.clientId,
    connectionTimeout: options.connectionTimeoutMs,
    // We hold the deadlines: kafkajs sweeps every 100 ms and leaves the socket open.
    enforceRequestTimeout: false,
    requestTimeout: 2 ** 31 - 1,
    ssl: options.ssl,
    sasl: options.sasl && saslForKafkajs(options.sasl),
    logger: silentLogger,
    socketFactory: createSocketFactory(),
  }) as KafkajsConnection;
  tameRequestQueue(inner);
  guardFraming(inner, onBrokenFrame);
  return inner;
}

/**
 * kafkajs re-arms a timer of about 1 ms for ever after the first answer: on 80 idle connections
 * that was most of the process's work. It is only needed while something is queued.
 */
function tameRequestQueue({ requestQueue }: KafkajsConnection): void {
  const schedule = requestQueue.scheduleCheckPendingRequests.bind(requestQueue);
  requestQueue.scheduleCheckPendingRequests = () => {
    if (requestQueue.pending.length > 0) schedule();
  };
}

/** An exception in the socket's data handler would end the process. */
function guardFraming(inner: KafkajsConnection, onBrokenFrame: (error: unknown) => void): void {
  const processData = inner.processData.bind(inner);
  inner.processData = (chunk) => {
    try {
      processData(chunk);
      if (inner.bytesNeeded < 4 || inner.bytesNeeded > LARGEST_ANSWER)
        throw new RangeError(`an answer of ${inner.bytesNeeded} bytes was announced`);
    } catch (error) {
      onBrokenFrame(error);
    }
  };
}

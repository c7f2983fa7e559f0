import { connect } from 'node:net';
import { within, type Runtime } from '@nest-event-bus/broker/runtime';
import { splitAddress } from '../proxy/address.js';

export interface ClusterView {
  readonly brokerIds: readonly number[];
  /** The id of the controller; -1 while there is none. */
  readonly controllerId: number;
}

const METADATA = 3;
const VERSION = 5;

/**
 * Asks one broker for its view of the cluster. Writes the request itself: no client, no retries, no
 * cache.
 */
export function probeMetadata(
  runtime: Runtime,
  address: string,
  timeoutMs = 1_000,
): Promise<ClusterView> {
  const { host, port } = splitAddress(address);
  const socket = connect({ host, port });
  const answer = new Promise<Buffer>((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    socket.on('connect', () => socket.write(metadataRequest()));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) resolve(received);
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`${address} closed the connection`)));
  });
  return within(runtime, timeoutMs, answer, () => new Error(`${address} did not answer`))
    .then(readClusterView)
    .finally(() => socket.destroy());
}

/** Requests no topics, so that the response contains brokers and controller only. */
function metadataRequest(): Buffer {
  const request = Buffer.alloc(4 + 2 + 2 + 4 + 2 + 4 + 1);
  request.writeInt32BE(request.length - 4, 0);
  request.writeInt16BE(METADATA, 4);
  request.writeInt16BE(VERSION, 6);
  request.writeInt16BE(-1, 12);
  return request;
}

function readClusterView(response: Buffer): ClusterView {
  // The position after size, correlation id and throttle time.
  let at = 12;
  const int32 = (): number => response.readInt32BE((at += 4) - 4);
  const skipString = (): void => {
    const length = response.readInt16BE(at);
    at += 2 + Math.max(length, 0);
  };
  const brokerIds = Array.from({ length: int32() }, () => {
    const id = int32();
    skipString();
    int32();
    skipString();
    return id;
  });
  skipString();
  return { brokerIds, controllerId: int32() };
}

import type { ApiRequest } from '../requests/api-request.js';

export interface RequestHeader {
  readonly version: number;
  readonly correlationId: number;
  readonly clientId: string;
  readonly bodyLength: number;
}

export function isFlexible<T>(request: ApiRequest<T>, version: number): boolean {
  return request.flexibleFrom !== undefined && version >= request.flexibleFrom;
}

/**
 * Returns the length prefix and the header. The header version follows from the version of the
 * request.
 */
export function requestHeader<T>(request: ApiRequest<T>, header: RequestHeader): Buffer {
  const { version, correlationId, clientId, bodyLength } = header;
  const clientIdLength = Buffer.byteLength(clientId);
  const length = 14 + clientIdLength + (isFlexible(request, version) ? 1 : 0);
  const bytes = Buffer.alloc(length);
  bytes.writeInt32BE(length - 4 + bodyLength, 0);
  bytes.writeInt16BE(request.apiKey, 4);
  bytes.writeInt16BE(version, 6);
  bytes.writeInt32BE(correlationId, 8);
  bytes.writeInt16BE(clientIdLength, 12);
  bytes.write(clientId, 14);
  return bytes;
}

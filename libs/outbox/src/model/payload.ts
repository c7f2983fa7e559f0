import { IllegalArgumentError } from '../errors/argument-errors.js';

/** The largest payload in bytes. */
export const MAX_PAYLOAD_BYTES = 1_048_576;

/** Exactly one of the payloads is set. */
export interface PayloadInput {
  /** The payload as JSON text. */
  readonly payloadJson?: string | null;
  /** The payload as the UTF-8 bytes of JSON text. */
  readonly payloadBytes?: Uint8Array | null;
  /** The payload as any bytes. Only stores with a column for binary payloads accept it. */
  readonly payloadBinary?: Uint8Array | null;
}

/** Returns JSON as text and other bytes as a copy. */
export function checkedPayload(input: PayloadInput, isStored: boolean): string | Uint8Array {
  const { payloadJson, payloadBytes, payloadBinary } = input;
  const given = [payloadJson, payloadBytes, payloadBinary].filter(
    (payload) => payload !== undefined && payload !== null,
  );
  const [payload] = given;
  if (payload === undefined || given.length > 1)
    throw new IllegalArgumentError(
      `The event has ${given.length} payloads. Set exactly one of payloadJson, payloadBytes and payloadBinary.`,
    );
  if (isStored) return payload;
  checkSize(typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength);
  if (payload === payloadBinary) return payloadBinary.slice();
  return checkedJson(typeof payload === 'string' ? payload : decoded(payload));
}

function checkSize(bytes: number): void {
  if (bytes > MAX_PAYLOAD_BYTES)
    throw new IllegalArgumentError(
      `The payload has ${bytes} bytes. Write at most ${MAX_PAYLOAD_BYTES}, or store the data elsewhere and write its address.`,
    );
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new IllegalArgumentError(
      'payloadBytes is not UTF-8 text. Pass JSON as UTF-8, or use payloadBinary.',
    );
  }
}

function checkedJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    throw new IllegalArgumentError(
      'The payload is not JSON text. Serialize it with JSON.stringify(), or use payloadBinary.',
    );
  }
  return text;
}

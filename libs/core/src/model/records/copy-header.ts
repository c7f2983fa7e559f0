import type { RecordHeader } from '@nest-event-bus/broker';

/** Copies the bytes of a header, so that writing into them does not change the original. */
export function copyHeader({ key, keyBytes, value }: RecordHeader): RecordHeader {
  const header = { key, value: copyBytes(value) };
  return keyBytes ? { ...header, keyBytes: Buffer.from(keyBytes) } : header;
}

export function copyBytes(bytes: Buffer | null): Buffer | null {
  return bytes && Buffer.from(bytes);
}

import type { RecordHeader } from '@nest-event-bus/broker';

/** The last value of a header as text; undefined if the header or its value is missing. */
export function headerText(headers: readonly RecordHeader[], name: string): string | undefined {
  for (let index = headers.length - 1; index >= 0; index -= 1) {
    const header = headers[index]!;
    if (header.key === name) return header.value?.toString('utf8');
  }
  return undefined;
}

/** A stream of bytes, as `fetch` returns it. */
export interface ByteStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }>;
    cancel(): Promise<unknown>;
  };
}

const DATA = 'data: ';

/** Yields the JSON values of server-sent events. Ends the request if the caller stops early. */
export async function* readEventStream(stream: ByteStream): AsyncGenerator<unknown, void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      const events = `${rest}${decoder.decode(chunk.value, { stream: true })}`.split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events)
        if (event.startsWith(DATA)) yield JSON.parse(event.slice(DATA.length)) as unknown;
    }
  } finally {
    await reader.cancel();
  }
}

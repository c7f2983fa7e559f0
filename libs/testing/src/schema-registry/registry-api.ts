import { sleep, within, type Runtime } from '@nest-event-bus/broker/runtime';
import { SchemaRegistryError } from './schema-registry-errors.js';

const TIMEOUT_MS = 10_000;

export interface RegisteredReference {
  /** The name that the schema uses. */
  readonly name: string;
  readonly subject: string;
  readonly version: number;
}

/** Registers an Avro schema as the next version of the subject, and returns its id. */
export async function registerSchema(
  runtime: Runtime,
  url: string,
  subject: string,
  {
    schema,
    references = [],
  }: { readonly schema: unknown; readonly references?: readonly RegisteredReference[] },
): Promise<number> {
  const { status, body } = await request(
    runtime,
    `${url}/subjects/${encodeURIComponent(subject)}/versions`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ schema: JSON.stringify(schema), references }),
    },
  );
  const { id } = status === 200 ? (JSON.parse(body) as { readonly id?: unknown }) : {};
  if (typeof id === 'number') return id;
  throw new SchemaRegistryError(`The registry did not take '${subject}': ${status} ${body}`);
}

/**
 * Waits until the registry answers. `fatalReason` is called in between and returns a reason to stop
 * waiting.
 */
export async function untilReady(
  runtime: Runtime,
  url: string,
  timeoutMs: number,
  fatalReason: () => string | undefined = () => undefined,
): Promise<void> {
  const deadline = runtime.monotonic() + timeoutMs;
  for (;;) {
    const problem = await problemAt(runtime, url);
    if (problem === undefined) return;
    const reason = fatalReason();
    if (reason !== undefined) throw new SchemaRegistryError(reason);
    if (runtime.monotonic() >= deadline)
      throw new SchemaRegistryError(`${url} was not ready after ${timeoutMs} ms: ${problem}.`);
    await sleep(runtime, 50);
  }
}

async function problemAt(runtime: Runtime, url: string): Promise<string | undefined> {
  try {
    const { status } = await request(runtime, `${url}/subjects`);
    return status === 200 ? undefined : `it answers with HTTP status ${status}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function request(
  runtime: Runtime,
  url: string,
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly body: string }> {
  const abort = new AbortController();
  const read = async () => {
    const response = await fetch(url, { ...init, signal: abort.signal });
    return { status: response.status, body: await response.text() };
  };
  return within(runtime, TIMEOUT_MS, read(), () => {
    abort.abort();
    return new SchemaRegistryError(`${url} did not answer within ${TIMEOUT_MS} ms.`);
  });
}

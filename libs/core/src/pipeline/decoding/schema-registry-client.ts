import { type DriverLogger, errorReasonOf, hasOwnMessage, ownError } from '@nest-event-bus/broker';
import { within, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedSchemaRegistry } from '../../config/resolving/resolve-formats.js';
import { isPlainObject } from '../../config/reading/plain-object.js';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import { read } from '../../failures/faults/thrown.js';
import { UnreadableValueError } from './unreadable-value-error.js';

export interface SchemaReference {
  readonly subject: string;
  readonly version: number;
}

export interface RegisteredSchema {
  /** Schema id; undefined unless the registry was asked for a subject. */
  readonly id: number | undefined;
  readonly type: string;
  /** The text of the schema as it was registered. */
  readonly schema: string;
  readonly references: readonly SchemaReference[];
}

/**
 * The codes for a missing subject, version or schema. Any other 404 means that the server is no
 * registry.
 */
const NOT_FOUND_CODES: readonly unknown[] = [40_401, 40_402, 40_403];

/**
 * HTTP statuses of an invalid request. A registry adds its own five-digit code, which a proxy does
 * not.
 */
const INVALID_REQUEST_STATUSES: readonly number[] = [400, 422];

const MEDIA_TYPES = 'application/vnd.schemaregistry.v1+json, application/json';

/**
 * Calls a registry with Confluent's REST interface. Caches nothing. Logs when the registry becomes
 * unavailable and when it answers again.
 */
export class SchemaRegistryClient {
  #isUnavailable = false;

  constructor(
    private readonly registry: ResolvedSchemaRegistry,
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
  ) {}

  schemaById(id: number): Promise<RegisteredSchema> {
    return this.#request(`/schemas/ids/${id}`, `schema ${id}`);
  }

  schemaOf(subject: string, version: number | 'latest'): Promise<RegisteredSchema> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions/${version}`;
    return this.#request(path, `version ${version} of subject '${subject}'`);
  }

  async #request(path: string, what: string): Promise<RegisteredSchema> {
    try {
      const found = await this.#fetchSchema(path, what);
      this.#reportAvailability(undefined);
      return found;
    } catch (error) {
      this.#reportAvailability(
        error instanceof SchemaRegistryUnavailableException ? error : undefined,
      );
      throw error;
    }
  }

  /** Logs an outage once, even if many records wait for its end. */
  #reportAvailability(silence: SchemaRegistryUnavailableException | undefined): void {
    const wasSilent = this.#isUnavailable;
    this.#isUnavailable = silence !== undefined;
    if (silence && !wasSilent) this.logger.warn(silence.message);
    if (!silence && wasSilent)
      this.logger.info(`The schema registry at ${this.registry.url} answers again.`);
  }

  /**
   * Requests a schema. Rejects with an UnreadableValueError if the registry has no such schema, and
   * with a retriable error if it could not answer.
   */
  async #fetchSchema(path: string, what: string): Promise<RegisteredSchema> {
    const { status, body } = await this.#get(path);
    const answer = parsed(body);
    const { error_code: code } = answer;
    if (status === 404 && NOT_FOUND_CODES.includes(code))
      throw new UnreadableValueError(`the schema registry knows no ${what}`);
    if (INVALID_REQUEST_STATUSES.includes(status) && isRegistryErrorCode(code, status))
      throw new UnreadableValueError(`the schema registry refuses ${what} (${code})`);
    if (status !== 200)
      throw this.#unavailable(`answered with HTTP status ${status}${adviceFor(status)}`);
    const { schema, schemaType: type = 'AVRO', id, references = [] } = answer;
    if (typeof schema !== 'string' || typeof type !== 'string' || !areReferences(references))
      throw this.#unavailable('gave an answer that is none of a schema registry');
    return { id: typeof id === 'number' ? id : undefined, type, schema, references };
  }

  async #get(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const { url, timeoutMs, requestHeaders } = this.registry;
    const abort = new AbortController();
    const request = async () => {
      const headers = { accept: MEDIA_TYPES, ...requestHeaders() };
      const response = await fetch(`${url}${path}`, { headers, signal: abort.signal });
      return { status: response.status, body: await response.text() };
    };
    try {
      return await within(this.runtime, timeoutMs, request(), () => {
        const late = ownError(new Error(`it did not answer within ${timeoutMs} ms`));
        abort.abort(late);
        return late;
      });
    } catch (cause) {
      throw this.#unavailable('did not answer', cause);
    }
  }

  #unavailable(happened: string, cause?: unknown): SchemaRegistryUnavailableException {
    return new SchemaRegistryUnavailableException(
      `The schema registry at ${this.registry.url} ${happened}${reasonOf(cause)}. Records that need its schemas wait and are tried again. Check the registry, and schemaRegistry in the options.`,
      { cause },
    );
  }
}

function parsed(body: string): Readonly<Record<string, unknown>> {
  try {
    const answer = JSON.parse(body) as unknown;
    return isPlainObject(answer) ? answer : {};
  } catch {
    // The body is the page of a proxy or of another service, so the HTTP status decides.
    return {};
  }
}

function isRegistryErrorCode(code: unknown, status: number): code is number {
  return typeof code === 'number' && Math.floor(code / 100) === status;
}

function areReferences(value: unknown): value is readonly SchemaReference[] {
  return (
    Array.isArray(value) &&
    Array.from<unknown>(value).every(
      (each) =>
        isPlainObject(each) &&
        typeof each['subject'] === 'string' &&
        Number.isInteger(each['version']),
    )
  );
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return ' (are the credentials right?)';
  return status === 404 ? ' (is the path of the url right?)' : '';
}

/**
 * Returns the reason from the cause of the error, because the error of fetch itself only says
 * "fetch failed". Messages of fetch are left out, because they may quote a header with a token.
 */
function reasonOf(thrown: unknown): string {
  if (thrown === undefined) return '';
  const cause: unknown = hasOwnMessage(thrown) ? undefined : read(thrown, 'cause');
  return ` (${errorReasonOf(cause ?? thrown)})`;
}

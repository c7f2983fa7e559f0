import { isPlainObject } from '../../config/reading/plain-object.js';
import { InvalidDeadLetterEditException } from '../../errors/redrive-errors.js';
import { hasEventBusPrefix } from '../../model/records/event-bus-headers.js';

/** What is changed before a letter is replayed. What is not given stays as it is. */
export interface LetterEdit {
  /** Null writes a record without a value. */
  readonly value?: string | Buffer | null;
  /** A changed key also decides the partition anew. */
  readonly key?: string | Buffer | null;
  /** Headers to set. Null removes a header. The others are kept. */
  readonly headers?: Readonly<Record<string, string | null>>;
}

const KNOWN_KEYS: readonly string[] = ['value', 'key', 'headers'];
const MOST_HEADERS = 50;
const LONGEST_NAME = 200;
const LARGEST_HEADER = 8 * 1024;
const LARGEST_KEY = 16 * 1024;
const LARGEST_VALUE = 1024 * 1024;

/** Throws if the edit is not valid. The message never contains what was given as a value. */
export function checkEdit(edit: unknown): asserts edit is LetterEdit {
  if (!isPlainObject(edit)) throw refused('edit', 'must be an object with value, key or headers');
  const given = Object.keys(edit).filter((key) => edit[key] !== undefined);
  const unknown = given.find((key) => !KNOWN_KEYS.includes(key));
  if (unknown !== undefined) throw refused('edit', `has no '${unknown.slice(0, 100)}'`);
  if (given.length === 0)
    throw refused('edit', 'changes nothing. Use replay to replay a letter as it is');
  checkBytes('value', edit['value'], LARGEST_VALUE);
  checkBytes('key', edit['key'], LARGEST_KEY);
  if (edit['headers'] !== undefined) checkHeaders(edit['headers']);
}

function checkHeaders(headers: unknown): void {
  if (!isPlainObject(headers)) throw refused('headers', 'must be an object of names and texts');
  const names = Object.keys(headers);
  if (names.length === 0 || names.length > MOST_HEADERS)
    throw refused('headers', `needs 1 to ${MOST_HEADERS} headers`);
  for (const name of names) {
    if (name === '' || name.length > LONGEST_NAME)
      throw refused('headers', `has a name that is empty or above ${LONGEST_NAME} characters`);
    if (hasEventBusPrefix(name.toLowerCase()))
      throw refused('headers', `has '${name}', which only the bus writes`);
    const value = headers[name];
    if (value !== null && typeof value !== 'string')
      throw refused('headers', `has '${name}', which needs a text, or null to remove it`);
    checkBytes(`headers.${name}`, value, LARGEST_HEADER);
  }
}

function checkBytes(field: string, value: unknown, most: number): void {
  if (value === undefined || value === null) return;
  if (typeof value !== 'string' && !Buffer.isBuffer(value))
    throw refused(field, 'must be a text, a Buffer or null');
  if (Buffer.byteLength(value) > most) throw refused(field, `has more than ${most} bytes`);
}

const refused = (field: string, complaint: string): InvalidDeadLetterEditException =>
  new InvalidDeadLetterEditException(field, complaint);

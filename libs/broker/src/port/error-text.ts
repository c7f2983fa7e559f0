/** The limit of an error's name: a longer text was not written by the author of a class. */
const MAX_NAME_LENGTH = 128;

/** Identifiers, with dots for the names of classes with a package. */
const NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$.]*$/u;

/** Codes such as `ECONNREFUSED`, `ER_DUP_ENTRY` or `P2002`, and SQLSTATE. */
const CODE = /^(?:[A-Z][A-Z0-9_]{1,63}|[0-9A-Z]{5})$/;

const SYSTEM_CALL = /^[a-z_]{1,32}$/;
const HOST = /^[\w.:%-]{1,255}$/;

/**
 * Key of the mark of an error whose message this library has written. It is registered, because an
 * application may load this package as ESM and as CommonJS.
 */
const IS_OWN = Symbol.for('nest-event-bus.own-message');

/**
 * Marks an error, or the prototype of a class of errors. An own message may be logged, because it
 * quotes no payload, no secret and no message of another error.
 */
export function markMessage<Target extends object>(
  target: Target,
  origin: 'own' | 'foreign',
): Target {
  return Object.defineProperty(target, IS_OWN, { value: origin === 'own' });
}

/** Marks the message of an error as written by this library, and sets the cause of the error. */
export function ownError<Failure extends Error>(error: Failure, cause?: unknown): Failure {
  setCause(error, cause);
  return markMessage(error, 'own');
}

/** Returns whether the message of an error was written by this library. */
export function hasOwnMessage(thrown: unknown): thrown is Error {
  return readSafely(() => (thrown as { readonly [IS_OWN]?: unknown })[IS_OWN]) === true;
}

/** Returns a text if it can be the name of a class: an identifier of limited length. */
export function nameOrUndefined(text: unknown): string | undefined {
  const isName = typeof text === 'string' && text.length <= MAX_NAME_LENGTH && NAME.test(text);
  return isName ? text : undefined;
}

/**
 * Returns the name of an error's class for logs, headers and metric labels. It is the `name` of the
 * error or of its own class, because bundlers rename classes; otherwise the name of the class. An
 * inherited `name` is not used, because it belongs to another class. A text that cannot be a name
 * is never returned: `name` may have been taken from a payload.
 */
export function errorNameOf(thrown: unknown): string {
  return (
    nameOrUndefined(readSafely(() => givenName(thrown as object))) ??
    nameOrUndefined(readSafely(() => (thrown as object).constructor.name)) ??
    'Error'
  );
}

/**
 * Returns a text about an error that is safe for an error message, a log line or a health result. For
 * an error of this library it is its message. The message of any other error may contain a payload or
 * a secret. So the text has only its name and code, or the system call that failed.
 */
export function errorReasonOf(thrown: unknown): string {
  if (hasOwnMessage(thrown)) return thrown.message;
  const code = errorCodeOf(thrown);
  if (code === undefined) return errorNameOf(thrown);
  return systemReason(thrown, code) ?? `${errorNameOf(thrown)} ${code}`;
}

/** Returns the reason as a sentence. Own messages are sentences already. */
export function errorSentenceOf(thrown: unknown): string {
  return hasOwnMessage(thrown) ? thrown.message : `Reason: ${errorReasonOf(thrown)}.`;
}

/** Returns the frames of an error's stack, without its first lines, which contain the message. */
export function errorFramesOf(thrown: unknown): readonly string[] {
  const { message, stack } = {
    message: propertyOf(thrown, 'message'),
    stack: propertyOf(thrown, 'stack'),
  };
  if (typeof message !== 'string' || typeof stack !== 'string') return [];
  const end = stack.indexOf(message) + message.length;
  return stack
    .slice(end)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '));
}

/**
 * Sets the `cause` of an error of this library. A cause of another library or of the application is
 * readable, but not printed by consoles and loggers that print the properties of an error.
 */
export function setCause(error: Error, cause: unknown): void {
  if (cause === undefined) return;
  const property = hasOwnMessage(cause) ? { value: cause } : { get: () => cause };
  Object.defineProperty(error, 'cause', { ...property, enumerable: false, configurable: true });
}

function givenName(error: object): unknown {
  const prototype = Object.getPrototypeOf(error) as object;
  const isOwnName = [error, prototype].some((each) => Object.hasOwn(each, 'name'));
  return isOwnName ? (error as Error).name : undefined;
}

/** Returns the `code` of an error if it has the form of a code. */
export function errorCodeOf(thrown: unknown): string | undefined {
  const code = readSafely(() => (thrown as { readonly code?: unknown }).code);
  return typeof code === 'string' && CODE.test(code) ? code : undefined;
}

/** Writes the message of a system error of Node again, from properties that are checked. */
function systemReason(thrown: unknown, code: string): string | undefined {
  const [syscall, host, port] = ['syscall', 'address', 'port'].map((key) =>
    propertyOf(thrown, key),
  );
  if (typeof syscall !== 'string' || !SYSTEM_CALL.test(syscall)) return undefined;
  const name = host ?? propertyOf(thrown, 'hostname');
  if (typeof name !== 'string' || !HOST.test(name)) return `${syscall} ${code}`;
  return `${syscall} ${code} ${name}${Number.isInteger(port) ? `:${String(port)}` : ''}`;
}

function propertyOf(thrown: unknown, key: string): unknown {
  return readSafely(() => (thrown as Readonly<Record<string, unknown>>)[key]);
}

/** Reads something of a thrown value. A getter or a proxy that throws counts as a missing value. */
function readSafely(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}

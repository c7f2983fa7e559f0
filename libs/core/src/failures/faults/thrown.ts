/**
 * Facts about a thrown value. Each property is read once and guarded: an error may be a proxy, and
 * a getter may throw.
 */
export interface Thrown {
  readonly value: object;
  /** The names of the error's classes, and its own `name`. */
  readonly names: ReadonlySet<string>;
  readonly message: string;
  readonly code: string | number | undefined;
  readonly errno: number | undefined;
  /**
   * SQLSTATE, which has five characters. Drivers of PostgreSQL store it in `code`, drivers of MySQL
   * in another property.
   */
  readonly sqlState: string | undefined;
  readonly httpStatus: number | undefined;
}

export function readThrown(value: object): Thrown {
  const code = codeOf(value);
  return {
    value,
    names: namesOf(value),
    message: text(read(value, 'message')) ?? '',
    code,
    errno: number(read(value, 'errno')),
    sqlState: sqlStateOf(value, code),
    httpStatus: httpStatusOf(value),
  };
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Returns a property; undefined if it is missing, or if reading it throws. */
export function read(value: unknown, key: string): unknown {
  if (!isObject(value)) return undefined;
  try {
    return (value as Readonly<Record<string, unknown>>)[key];
  } catch {
    // A getter that throws does not say why the handler failed.
    return undefined;
  }
}

export function readList(value: unknown, key: string): readonly unknown[] {
  try {
    const list = read(value, key);
    return Array.isArray(list) ? Array.from<unknown>(list) : [];
  } catch {
    return [];
  }
}

/**
 * Returns whether the value is an instance of one of these classes. Returns false for a proxy that
 * throws when it is inspected.
 */
export function isOneOf(
  value: unknown,
  kinds: readonly (abstract new (...args: never[]) => unknown)[],
): boolean {
  try {
    return kinds.some((kind) => value instanceof kind);
  } catch {
    return false;
  }
}

/** Returns a text for a log. An object without a prototype cannot be converted to text. */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'something that cannot be shown';
  }
}

/**
 * Reads the HTTP status from errors of Nest, axios, got, http-errors and others. Only 4xx and 5xx
 * count, because smaller numbers may be exit codes.
 */
export function httpStatusOf(value: object): number | undefined {
  const response = read(value, 'response');
  const candidates = [
    read(value, 'status'),
    read(value, 'statusCode'),
    read(response, 'status'),
    read(response, 'statusCode'),
    callOf(value, 'getStatus'),
  ];
  return candidates.find(isFailureStatus);
}

/** Returns the causes of an error, from all properties in which libraries store them. */
export function causesOf(value: object): readonly unknown[] {
  return CAUSES.map((key) => read(value, key)).filter(isObject);
}

/** `driverError` comes from TypeORM, `original` from Sequelize. */
const CAUSES = ['cause', 'driverError', 'original'] as const;

/** Prisma uses `errorCode` if no client could be created. */
function codeOf(value: object): string | number | undefined {
  const code = read(value, 'code') ?? read(value, 'errorCode');
  return text(code) ?? number(code);
}

const SQL_STATE = /^[0-9A-Z]{5}$/;

function sqlStateOf(value: object, code: string | number | undefined): string | undefined {
  const state = text(read(value, 'sqlState')) ?? code;
  return typeof state === 'string' && SQL_STATE.test(state) ? state : undefined;
}

/** Limit for the classes of an error. Only a proxy could have more. */
const MOST_CLASSES = 16;

function namesOf(value: object): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (name: unknown): void => void (typeof name === 'string' && names.add(name));
  add(read(value, 'name'));
  try {
    let at = Object.getPrototypeOf(value) as object | null;
    for (let depth = 0; at !== null && depth < MOST_CLASSES; depth++) {
      if (Object.hasOwn(at, 'constructor')) add(at.constructor.name);
      add(Object.getOwnPropertyDescriptor(at, 'name')?.value);
      at = Object.getPrototypeOf(at) as object | null;
    }
  } catch {
    // The error is a proxy that cannot be inspected. The names that were read before are used.
  }
  return names;
}

function callOf(value: object, method: string): unknown {
  try {
    const call = read(value, method);
    return typeof call === 'function' ? Reflect.apply(call, value, []) : undefined;
  } catch {
    return undefined;
  }
}

const isFailureStatus = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599;

const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

const number = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined;

import type { BrokerCapabilities } from './driver.js';
import { InvalidOptionError } from './errors.js';
import { flag, integer, oneOf, rejectUnknownKeys, text } from './option-values.js';
import type { Compression, ProducerOptions } from './producer.js';

/** The validated options of a producer, with every default filled in. */
export type ResolvedProducerOptions = Required<Omit<ProducerOptions, 'transactionalId'>> &
  Pick<ProducerOptions, 'transactionalId'>;

const PRODUCER_KEYS = [
  'batchBytes',
  'lingerMs',
  'bufferBytes',
  'maxRequestBytes',
  'deliveryTimeoutMs',
  'requestTimeoutMs',
  'compression',
  'idempotent',
  'transactionalId',
  'transactionTimeoutMs',
] as const satisfies readonly (keyof ProducerOptions)[];

const DEFAULT_DELIVERY_TIMEOUT_MS = 120_000;
const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
const DEFAULT_TRANSACTION_TIMEOUT_MS = 60_000;
const DEFAULT_BATCH_BYTES = 16 * 1024;
const DEFAULT_BUFFER_BYTES = 32 * 1024 * 1024;

/** Advice for zstd, the only compression that not every Node.js can write. */
const ZSTD_ADVICE =
  ' zstd is written by Node.js 22.15, 23.8 and later (it is read by all): run a newer one, or compress with lz4 or gzip.';

export function validateProducerOptions(
  options: ProducerOptions,
  capabilities: Pick<BrokerCapabilities, 'compressions'>,
): ResolvedProducerOptions {
  rejectUnknownKeys('producer', options, PRODUCER_KEYS);
  const batchBytes = integer('producer.batchBytes', options.batchBytes ?? DEFAULT_BATCH_BYTES, 1);
  const bufferBytes = integer(
    'producer.bufferBytes',
    options.bufferBytes ?? Math.max(DEFAULT_BUFFER_BYTES, batchBytes),
    1,
  );
  if (bufferBytes < batchBytes)
    throw new InvalidOptionError(
      `producer.bufferBytes (${bufferBytes}) is smaller than producer.batchBytes (${batchBytes}): no batch could ever fill. Raise bufferBytes or lower batchBytes.`,
    );
  return {
    batchBytes,
    bufferBytes,
    lingerMs: integer('producer.lingerMs', options.lingerMs ?? 5, 0),
    maxRequestBytes: integer('producer.maxRequestBytes', options.maxRequestBytes ?? 1024 * 1024, 1),
    ...sendTimeouts(options),
    compression: oneOf<Compression>(
      'producer.compression',
      options.compression ?? 'none',
      capabilities.compressions,
      options.compression === 'zstd' ? ZSTD_ADVICE : '',
    ),
    idempotent: flag('producer.idempotent', options.idempotent ?? true),
    ...transactionOptions(options),
  };
}

function sendTimeouts(
  options: ProducerOptions,
): Pick<ResolvedProducerOptions, 'deliveryTimeoutMs' | 'requestTimeoutMs'> {
  const deliveryTimeoutMs = integer(
    'producer.deliveryTimeoutMs',
    options.deliveryTimeoutMs ??
      Math.max(DEFAULT_DELIVERY_TIMEOUT_MS, options.requestTimeoutMs ?? 0),
    1,
  );
  const requestTimeoutMs = integer(
    'producer.requestTimeoutMs',
    options.requestTimeoutMs ?? Math.min(DEFAULT_REQUEST_TIMEOUT_MS, deliveryTimeoutMs),
    1,
  );
  if (requestTimeoutMs > deliveryTimeoutMs)
    throw new InvalidOptionError(
      `producer.requestTimeoutMs (${requestTimeoutMs}) is longer than producer.deliveryTimeoutMs (${deliveryTimeoutMs}), which contains it. Lower the first or raise the second.`,
    );
  return { deliveryTimeoutMs, requestTimeoutMs };
}

function transactionOptions(
  options: ProducerOptions,
): Pick<ResolvedProducerOptions, 'transactionalId' | 'transactionTimeoutMs'> {
  const { transactionalId, transactionTimeoutMs, idempotent } = options;
  if (transactionTimeoutMs !== undefined && transactionalId === undefined)
    throw new InvalidOptionError(
      'producer.transactionTimeoutMs means nothing without producer.transactionalId: give that too, or leave it out.',
    );
  if (transactionalId !== undefined && idempotent === false)
    throw new InvalidOptionError(
      'producer.idempotent is false, but with a producer.transactionalId every send is idempotent: leave one of them out.',
    );
  return {
    ...(transactionalId === undefined
      ? {}
      : { transactionalId: text('producer.transactionalId', transactionalId) }),
    transactionTimeoutMs: integer(
      'producer.transactionTimeoutMs',
      transactionTimeoutMs ?? DEFAULT_TRANSACTION_TIMEOUT_MS,
      1,
    ),
  };
}

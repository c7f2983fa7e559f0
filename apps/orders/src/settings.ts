const brokers = process.env['KAFKA_BROKERS'];
const rate = Number(process.env['ORDERS_PER_SECOND'] ?? 5);
if (!(rate >= 0 && rate <= 10_000))
  throw new RangeError('ORDERS_PER_SECOND must be a number from 0 to 10000.');

/** What the environment decides about the demo. */
export const settings = {
  /** Addresses of a Kafka; undefined for the broker inside the process. */
  brokers: brokers === '' ? undefined : brokers,
  port: Number(process.env['PORT'] ?? 3000),
  /** Orders that the traffic places per second; 0 for none. */
  ordersPerSecond: rate,
  /** Distinguishes several processes of the demo on one host: each needs static members of its own. */
  instance: process.env['INSTANCE'] ?? '{hostname}',
} as const;

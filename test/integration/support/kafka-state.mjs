/**
 * Result of the global set-up for the suites, which run in other processes and inherit its environment.
 *
 * @typedef {{ brokers?: string[], missing?: string }} SharedKafkaState
 * @typedef {{ missing?: string }} OwnKafkaState
 * @typedef {{ shared: SharedKafkaState, own: OwnKafkaState }} KafkaState
 */

const VARIABLE = 'NEST_EVENT_BUS_TEST_KAFKA';

/** @type {AsyncDisposable | undefined} */
let running;

/**
 * @param {KafkaState} state
 * @param {AsyncDisposable | undefined} kafka
 */
export function publishKafkaState(state, kafka) {
  running = kafka;
  process.env[VARIABLE] = JSON.stringify(state);
}

export async function endSharedKafka() {
  delete process.env[VARIABLE];
  await running?.[Symbol.asyncDispose]();
  running = undefined;
}

/** @returns {KafkaState} */
export function kafkaState() {
  const published = process.env[VARIABLE];
  const missing = 'the global set-up of the integration project did not run';
  return published === undefined
    ? { shared: { missing }, own: { missing } }
    : JSON.parse(published);
}

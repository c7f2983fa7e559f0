// The rules of deploy/prometheus-rules.yml as data. Every rule has a series with which it fires and
// one with which it does not: promtool runs both.

/**
 * @typedef {object} AlertRule
 * @property {string} alert
 * @property {'warning' | 'critical'} severity
 * @property {string} expr
 * @property {string} for
 * @property {string} summary
 * @property {string} remedy
 * @property {string} series series of the test, without its values
 * @property {string} fires values with which the rule fires, one per minute
 * @property {string} silent values with which the rule does not fire
 * @property {Record<string, string>} labels labels of the alert in the test, besides its severity
 */

const PLACE = 'cluster, binding, topic, tier';
const ORDERS = { cluster: 'default', binding: 'orders' };
const MAIN = { ...ORDERS, topic: 'orders', tier: '0' };
const LETTERS = { ...ORDERS, topic: 'orders.DLT', tier: '0' };

const selector = (/** @type {Record<string, string>} */ labels) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',');

/** Level of an alert, over all processes. */
const level = (/** @type {string} */ which, /** @type {string} */ compared) =>
  `max by (${PLACE}) (eventbus_lag_alert_level{${which}}) ${compared}`;

const levelSeries = (
  /** @type {Record<string, string>} */ labels,
  /** @type {string} */ of,
  /** @type {string} */ measure,
) => `eventbus_lag_alert_level{${selector({ ...labels, of, measure, instance: 'a' })}}`;

/** @type {readonly AlertRule[]} */
export const ALERT_RULES = [
  {
    alert: 'EventBusLagWarning',
    severity: 'warning',
    expr: level('of!="dead-letters",measure="records"', '== 1'),
    for: '5m',
    summary: 'The lag of {{ $labels.topic }} is above the warning threshold of its class.',
    remedy: 'Look at eventbus_consumer_lag_status, and at the doctor text of /health/ready.',
    series: levelSeries(MAIN, 'main', 'records'),
    fires: '1x10',
    silent: '0x10',
    labels: MAIN,
  },
  {
    alert: 'EventBusLagCritical',
    severity: 'critical',
    expr: level('of!="dead-letters",measure="records"', '== 2'),
    for: '5m',
    summary: 'The lag of {{ $labels.topic }} is above the critical threshold of its class.',
    remedy: 'Look at eventbus_consumer_lag_status, and at the doctor text of /health/ready.',
    series: levelSeries(MAIN, 'main', 'records'),
    fires: '2x10',
    silent: '1x10',
    labels: MAIN,
  },
  {
    alert: 'EventBusLagOld',
    severity: 'warning',
    expr: level('of!="dead-letters",measure="seconds"', '>= 1'),
    for: '5m',
    summary: 'A record of {{ $labels.topic }} waits for longer than alerts.ageWarningMs allows.',
    remedy: 'Look at the doctor text of /health/ready.',
    series: levelSeries(MAIN, 'main', 'seconds'),
    fires: '1x10',
    silent: '0x10',
    labels: MAIN,
  },
  {
    alert: 'EventBusDeadLettersOpen',
    severity: 'warning',
    expr: level('of="dead-letters",measure="records"', '== 1'),
    for: '0m',
    summary: 'Dead letters are open in {{ $labels.topic }}.',
    remedy: 'Look at their causes, then replay them or mark them as permanently failed.',
    series: levelSeries(LETTERS, 'dead-letters', 'records'),
    fires: '1x10',
    silent: '0x10',
    labels: LETTERS,
  },
  {
    alert: 'EventBusDeadLettersMany',
    severity: 'critical',
    expr: level('of="dead-letters",measure="records"', '== 2'),
    for: '0m',
    summary: 'Many dead letters are open in {{ $labels.topic }}.',
    remedy: 'Look at their causes, then replay them or mark them as permanently failed.',
    series: levelSeries(LETTERS, 'dead-letters', 'records'),
    fires: '2x10',
    silent: '1x10',
    labels: LETTERS,
  },
  {
    alert: 'EventBusDeadLettersOld',
    severity: 'warning',
    expr: level('of="dead-letters",measure="seconds"', '>= 1'),
    for: '0m',
    summary: 'A dead letter of {{ $labels.topic }} is older than alerts.dltAgeWarningMs allows.',
    remedy: 'Replay it, or mark it as permanently failed.',
    series: levelSeries(LETTERS, 'dead-letters', 'seconds'),
    fires: '1x10',
    silent: '0x10',
    labels: LETTERS,
  },
  {
    alert: 'EventBusStalled',
    severity: 'critical',
    expr: `count by (${PLACE}) (eventbus_consumer_lag_status == 2) > 0`,
    for: '5m',
    summary: 'Records of {{ $labels.topic }} wait, and nothing is committed.',
    remedy: 'Look at the doctor text of /health/ready: it names the handler and the record.',
    series: `eventbus_consumer_lag_status{${selector({ ...MAIN, instance: 'a' })}}`,
    fires: '2x10',
    silent: '4x10',
    labels: MAIN,
  },
  {
    alert: 'EventBusLagUnknown',
    severity: 'warning',
    expr: 'min by (cluster, binding) (eventbus_lag_poll_failed) == 1',
    for: '10m',
    summary: 'No process can read the lag of {{ $labels.binding }}.',
    remedy: 'Check the brokers, and the right DESCRIBE on topics and groups.',
    series: `eventbus_lag_poll_failed{${selector({ ...ORDERS, instance: 'a' })}}`,
    fires: '1x15',
    silent: '0x15',
    labels: ORDERS,
  },
  {
    alert: 'EventBusCircuitOpen',
    severity: 'warning',
    expr: 'count by (cluster, binding) (eventbus_circuit_state == 1) > 0',
    for: '5m',
    summary: 'The circuit of {{ $labels.binding }} has been open for five minutes.',
    remedy: 'Repair what the handler depends on. The circuit closes by itself.',
    series: `eventbus_circuit_state{${selector({ ...ORDERS, instance: 'a' })}}`,
    fires: '1x10',
    silent: '0x10',
    labels: ORDERS,
  },
  {
    alert: 'EventBusTopicNotWritable',
    severity: 'critical',
    expr: 'max by (cluster, binding, topic) (eventbus_publish_troubles) > 0',
    for: '1m',
    summary: 'Failed records wait, because {{ $labels.topic }} cannot be written to.',
    remedy: 'Create the topic, or grant WRITE on it.',
    series: `eventbus_publish_troubles{${selector({ ...ORDERS, topic: 'orders.DLT', instance: 'a' })}}`,
    fires: '1x10',
    silent: '0x10',
    labels: { ...ORDERS, topic: 'orders.DLT' },
  },
  {
    alert: 'EventBusHandlerStuck',
    severity: 'warning',
    expr: 'sum by (cluster, binding) (eventbus_handlers_stuck) > 0',
    for: '5m',
    summary: 'A handler of {{ $labels.binding }} runs for longer than stuckHandlerMs.',
    remedy: 'Look at what it waits for.',
    series: `eventbus_handlers_stuck{${selector({ ...MAIN, instance: 'a' })}}`,
    fires: '1x10',
    silent: '0x10',
    labels: ORDERS,
  },
  {
    alert: 'EventBusMembershipGivenUp',
    severity: 'critical',
    expr: 'sum by (cluster, binding) (increase(eventbus_memberships_given_up_total[15m])) > 0',
    for: '0m',
    summary: 'A handler of {{ $labels.binding }} has exceeded maxPollIntervalMs.',
    remedy: 'Let it end when context.signal aborts, or raise maxPollIntervalMs.',
    series: `eventbus_memberships_given_up_total{${selector({ ...MAIN, instance: 'a' })}}`,
    fires: '0+1x10',
    silent: '3x10',
    labels: ORDERS,
  },
  {
    alert: 'EventBusPausedForLong',
    severity: 'warning',
    expr: 'max by (cluster, binding) (eventbus_container_paused{reason=~"operator|routing"}) > 0',
    for: '1h',
    summary: '{{ $labels.binding }} has been paused for an hour.',
    remedy: 'Resume it, or stop it.',
    series: `eventbus_container_paused{${selector({ ...MAIN, reason: 'operator', instance: 'a' })}}`,
    fires: '1x70',
    silent: '1x20',
    labels: ORDERS,
  },
];

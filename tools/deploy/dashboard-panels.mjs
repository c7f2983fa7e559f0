// The panels of deploy/grafana/event-bus.json as data.

const BINDING = 'cluster=~"$cluster",binding=~"$binding"';

/**
 * @typedef {object} Panel
 * @property {string} title
 * @property {string} expr
 * @property {string} legend
 * @property {string} [unit]
 */

/** @type {readonly Panel[]} */
export const PANELS = [
  {
    title: 'Lag in records',
    expr: `sum by (binding, topic) (max by (binding, topic, partition) (eventbus_consumer_lag{${BINDING}}))`,
    legend: '{{binding}} {{topic}}',
  },
  {
    title: 'Lag in seconds',
    expr: `max by (binding, topic) (eventbus_consumer_lag_seconds{${BINDING}})`,
    legend: '{{binding}} {{topic}}',
    unit: 's',
  },
  {
    title: 'Status (0 OK, 1 WARNING, 2 STALLED, 3 REWIND, 4 PAUSED, 5 CIRCUIT_OPEN, 6 STOPPED)',
    expr: `max by (binding, topic) (eventbus_consumer_lag_status{${BINDING}})`,
    legend: '{{binding}} {{topic}}',
  },
  {
    title: 'Records by outcome',
    expr: `sum by (binding, outcome) (rate(eventbus_records_processed_total{${BINDING}}[5m]))`,
    legend: '{{binding}} {{outcome}}',
    unit: 'ops',
  },
  {
    title: 'Failures by error class',
    expr: `sum by (binding, exception) (rate(eventbus_records_failed_total{${BINDING}}[5m]))`,
    legend: '{{binding}} {{exception}}',
    unit: 'ops',
  },
  {
    title: 'Processing time, 99 %',
    expr: `histogram_quantile(0.99, sum by (binding, le) (rate(eventbus_processing_duration_seconds_bucket{${BINDING}}[5m])))`,
    legend: '{{binding}}',
    unit: 's',
  },
  {
    title: 'Open dead letters',
    expr: `max by (binding, topic) (eventbus_dlt_depth{${BINDING}})`,
    legend: '{{binding}} {{topic}}',
  },
  {
    title: 'Age of the oldest dead letter',
    expr: `max by (binding, topic) (eventbus_dlt_oldest_seconds{${BINDING}})`,
    legend: '{{binding}} {{topic}}',
    unit: 's',
  },
  {
    title: 'Records in retry topics',
    expr: `max by (binding, topic) (eventbus_retry_tier_depth{${BINDING}})`,
    legend: '{{binding}} {{topic}}',
  },
  {
    title: 'Circuit (0 closed, 1 open, 2 half open)',
    expr: `max by (binding) (eventbus_circuit_state{${BINDING}})`,
    legend: '{{binding}}',
  },
  {
    title: 'Paused partitions by reason',
    expr: `sum by (binding, reason) (eventbus_partitions_paused{${BINDING}})`,
    legend: '{{binding}} {{reason}}',
  },
  {
    title: 'Rebalances',
    expr: `sum by (binding, change) (increase(eventbus_rebalances_total{${BINDING}}[5m]))`,
    legend: '{{binding}} {{change}}',
  },
];

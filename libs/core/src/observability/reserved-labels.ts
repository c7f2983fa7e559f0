/**
 * Labels that samples of the bus or of an exporter have. A label of the application with such a
 * name would be lost, or two samples could become one.
 */
export const RESERVED_LABELS: ReadonlySet<string> = new Set([
  'binding',
  'cause',
  'change',
  'cluster',
  'eventbus_app',
  'exception',
  'from',
  'group',
  'le',
  'listenerType',
  'measure',
  'of',
  'operation',
  'outcome',
  'partition',
  'reason',
  'result',
  'tier',
  'to',
  'topic',
]);

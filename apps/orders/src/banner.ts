import { UNKNOWN_ARTICLE } from './faults/catalogue.js';
import { settings } from './settings.js';

/** Tells a visitor what to open and what to try. */
export function banner(url: string): string {
  const broker = settings.brokers ? `Kafka at ${settings.brokers}` : 'a broker inside this process';
  return `
The orders demo runs on ${broker}, with ${settings.ordersPerSecond} orders per second.

  Open    ${url}/health                     state of each binding, with reasons
          ${url}/metrics                    what Prometheus reads
          ${url}/eventbus/bindings          the admin API, for requests of this machine
          ${url}/books                      what was produced, and what was handled
          ${url}/faults                     the services that you can break

  Try     curl -X POST ${url}/orders
          curl -X POST ${url}/faults/warehouse/broken      the circuit of orders opens
          curl -X POST ${url}/faults/warehouse/healthy     it closes, and nothing is lost
          curl -X POST ${url}/faults/bank/slow             or flaky; the services: warehouse, bank, mail
          curl -X POST '${url}/poison/orders?count=3'      three dead letters, with alerts
          curl -X POST ${url}/catalogue/${UNKNOWN_ARTICLE}        repairs their cause
          curl -X POST '${url}/eventbus/bindings/orders/dlt/replay?count=3'   brings them back

Ctrl-C drains and ends.
`;
}

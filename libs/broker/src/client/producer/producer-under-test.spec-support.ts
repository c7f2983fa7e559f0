import type { DriverLogger } from '../../port/driver.js';
import type { SendError } from '../../port/errors.js';
import type { ProducerOptions } from '../../port/producer.js';
import type { OutgoingRecord } from '../../port/record.js';
import { KafkaProducer } from './index.js';
import type { ScriptedProduceCluster } from './scripted-produce-cluster.spec-support.js';

export interface LoggedLine {
  readonly level: keyof DriverLogger;
  readonly message: string;
}

export function loggerInto(lines: LoggedLine[]): DriverLogger {
  const line = (level: keyof DriverLogger) => (message: string) =>
    void lines.push({ level, message });
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

export function producerOn(
  cluster: ScriptedProduceCluster,
  options: ProducerOptions = {},
  lines: LoggedLine[] = [],
): KafkaProducer {
  return new KafkaProducer({ cluster, producerId: 'p1', options, logger: loggerInto(lines) });
}

/** Returns the error of a send that must fail; throws if the send succeeds. */
export async function failureOf(sending: Promise<unknown>): Promise<SendError> {
  return sending.then(
    () => {
      throw new Error('The send was expected to fail, and did not.');
    },
    (error: SendError) => error,
  );
}

/** Returns the state of each record. */
export function states({ outcomes }: SendError): readonly string[] {
  return outcomes.map(({ state }) => state);
}

export const ordersRecord = (partition: number, value = 'v'): OutgoingRecord => ({
  topic: 'orders',
  partition,
  value,
});

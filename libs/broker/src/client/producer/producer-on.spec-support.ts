import type { DriverLogger } from '../../port/driver.js';
import type { SendError } from '../../port/errors.js';
import type { ProducerOptions } from '../../port/producer.js';
import { KafkajsProducer } from './index.js';
import type { ScriptedCluster } from './scripted-cluster.spec-support.js';

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
  cluster: ScriptedCluster,
  options: ProducerOptions = {},
  lines: LoggedLine[] = [],
): KafkajsProducer {
  return new KafkajsProducer({ cluster, producerId: 'p1', options, logger: loggerInto(lines) });
}

/** The error that the send ends with; fails when it ends well. */
export async function failureOf(sending: Promise<unknown>): Promise<SendError> {
  return sending.then(
    () => {
      throw new Error('The send was expected to fail, and did not.');
    },
    (error: SendError) => error,
  );
}

/** What became of each record, short. */
export function states({ outcomes }: SendError): readonly string[] {
  return outcomes.map(({ state }) => state);
}

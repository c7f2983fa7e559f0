import { ServerProcess } from '../../processes/server-process.js';
import { jvmFlags } from './jvm-flags.js';
import type { KafkaJars } from './kafka-jars.js';

/** The JVM of one broker. */
export class BrokerProcess extends ServerProcess {
  constructor(jars: KafkaJars, folder: string) {
    super(folder, [
      jars.java,
      ...jvmFlags(folder),
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
      ...(jars.jvmFlags ?? []),
      '-cp',
      jars.classPath,
      'kafka.Kafka',
      'server.properties',
    ]);
  }
}

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BrokerDriver, BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { DEFAULT_KAFKA_VERSION } from '@nest-event-bus/testing';
import type { ResolvedDlt } from '../../../../libs/core/src/config/resolving/resolved-binding.js';
import { readRetryHistory } from '../../../../libs/core/src/model/records/retry-history.js';
import { DltPublisher } from '../../../../libs/core/src/failures/publishing/dlt-publisher.js';
import type { FailureReport } from '../../../../libs/core/src/model/outcomes/failure-report.js';
import { readDeadLetter } from '../../../../libs/core/src/failures/headers/read-dead-letter.js';
import { NO_EVENTS } from '../../../../libs/core/src/model/events/event-sink.js';
import { OngoingProblems } from '../../../../libs/core/src/problems/ongoing-problems.js';
import { PublishProblemTracker } from '../../../../libs/core/src/failures/publishing/publish-problem-tracker.js';
import type { RecordWriterParts } from '../../../../libs/core/src/failures/publishing/record-writer.js';
import {
  RecordTooLargeForRetryError,
  RetryPublisher,
} from '../../../../libs/core/src/failures/publishing/retry-publisher.js';
import {
  recordOf,
  shown,
  aFailureReport,
} from '../../../../libs/core/src/failures/report/failure-report-samples.spec-support.js';
import { kafkaJars } from '../../../../libs/testing/src/kafka/local/kafka-jars.js';
import { describeWithJava, describeWithKafka, type SharedKafka } from '../../support/index.js';

const LETTER = { reason: 'NON_RETRYABLE', cause: 'permanent-error' } as const;

/** Publishers of one binding on a real broker. */
class Publishers {
  readonly driver: BrokerDriver;
  readonly warnings: Readonly<Record<string, unknown>>[] = [];
  readonly publishProblems: PublishProblemTracker;
  readonly #logger: DriverLogger;

  constructor(private readonly kafka: SharedKafka) {
    this.driver = kafkajs({ brokers: kafka.brokers });
    const quiet = (): void => undefined;
    const warn: DriverLogger['warn'] = (_, context = {}) => void this.warnings.push(context);
    this.#logger = { debug: quiet, info: quiet, warn, error: quiet };
    const logger = this.#logger;
    this.publishProblems = new PublishProblemTracker({
      binding: 'orders',
      publishTimeoutMs: 30_000,
      problems: new OngoingProblems(realRuntime, logger),
      events: NO_EVENTS,
      runtime: realRuntime,
      logger,
    });
  }

  async topic(maxMessageBytes?: number): Promise<string> {
    const name = this.kafka.unique('dead-letters');
    const config =
      maxMessageBytes === undefined ? undefined : { 'max.message.bytes': String(maxMessageBytes) };
    await this.driver.admin().createTopics([{ name, partitions: 1, config }]);
    return name;
  }

  parts(dlt: Partial<ResolvedDlt>): RecordWriterParts {
    const producer = this.driver.producer();
    const common = { headerProfile: ['eventbus'], publishTimeoutMs: 10_000 } as const;
    return {
      binding: { name: 'orders', dlt: { ...common, ...dlt } as ResolvedDlt },
      producer: () => producer,
      publishProblems: this.publishProblems,
      runtime: realRuntime,
      logger: this.#logger,
    };
  }

  publish(report: FailureReport, dlt: Partial<ResolvedDlt>): Promise<unknown> {
    return new DltPublisher(this.parts(dlt)).publish(report, LETTER);
  }

  async records(topic: string): Promise<readonly BrokerRecord[]> {
    const admin = this.driver.admin();
    const found: BrokerRecord[] = [];
    const [mark] = await admin.watermarks(topic);
    for await (const record of admin.readRange(topic, 0, 0, mark?.high ?? 0)) found.push(record);
    return found;
  }
}

describeWithKafka('Dead letters on a real broker', (kafka) => {
  const publishers = new Publishers(kafka);
  const description = {
    className: 'OutOfStock',
    message: 'm'.repeat(1_000),
    stack: 's'.repeat(2_000),
  };

  beforeEach(() => publishers.warnings.splice(0));
  afterAll(() => publishers.driver.close());

  it('are written with all headers, and read with the values that were written', async () => {
    const topic = await publishers.topic();
    const headerProfile = ['eventbus', 'spring', 'plain'] as const;
    const letter = await publishers.publish(aFailureReport({ description }), {
      topic,
      headerProfile,
    });
    const [record] = await publishers.records(topic);
    expect(readDeadLetter(record!)).toEqual(letter);
    expect(publishers.warnings).toEqual([]);
  });

  it('are written with fewer headers if all headers exceed the record limit of the topic', async () => {
    const topic = await publishers.topic(1_700);
    const value = Buffer.alloc(400, 255);
    const report = aFailureReport({ record: recordOf({ value }), description });
    await publishers.publish(report, { topic, headerProfile: ['eventbus', 'plain'] });
    const [record] = await publishers.records(topic);
    expect(record).toMatchObject({ key: report.record.key, value });
    expect(shown(record!.headers)).toMatchObject({
      trace: 'a',
      'exception-message': '',
      'x-eventbus-dlt-reason': 'NON_RETRYABLE',
      'x-eventbus-last-exception-class': 'OutOfStock',
    });
    expect(publishers.warnings).toMatchObject([{ to: topic, without: ['stack', 'message'] }]);
  });

  it('are written with the original headers only if nothing else fits', async () => {
    const topic = await publishers.topic(500);
    const value = Buffer.alloc(400, 1);
    const report = aFailureReport({ record: recordOf({ value }), description });
    await publishers.publish(report, { topic });
    const [record] = await publishers.records(topic);
    expect(record?.value).toEqual(value);
    expect(shown(record!.headers)).toEqual({ trace: 'a' });
  });

  it('are rejected only if the record itself is too large: then the topic is reported as unwritable', async () => {
    const topic = await publishers.topic(300);
    const report = aFailureReport({ record: recordOf({ value: Buffer.alloc(400) }) });
    await expect(publishers.publish(report, { topic })).rejects.toThrow(
      'It is too large even with the fewest headers. Raise max.message.bytes',
    );
    expect(publishers.publishProblems.all).toMatchObject([{ topic }]);
    expect(await publishers.records(topic)).toEqual([]);
  });

  it('are rejected within publishTimeoutMs if the topic is missing', async () => {
    const topic = kafka.unique('missing');
    const startedAt = realRuntime.monotonic();
    await expect(
      publishers.publish(aFailureReport(), { topic, publishTimeoutMs: 1_500 }),
    ).rejects.toThrow(`could not be written to topic '${topic}'`);
    expect(realRuntime.monotonic() - startedAt).toBeLessThan(20_000);
  });

  it('may lose headers that do not fit, but a retry whose control headers do not fit is rejected', async () => {
    const topic = await publishers.topic(1_300);
    const small = await publishers.topic(400);
    const retries = new RetryPublisher(publishers.parts({ headerProfile: ['spring'] }));
    const report = aFailureReport({ description });
    await retries.publish(report, { kind: 'retry', tier: 1, topic, delivery: 1 });
    const [record] = await publishers.records(topic);
    expect(readRetryHistory(record!, 1)).toMatchObject({ totalAttempts: 3, delivery: 1 });
    await expect(
      retries.publish(report, { kind: 'retry', tier: 1, topic: small, delivery: 1 }),
    ).rejects.toThrow(RecordTooLargeForRetryError);
  });
});

describeWithKafka('Dead letters in header profile spring', (kafka) => {
  describeWithJava("and a Java program that reads and writes Spring's headers", () => {
    const publishers = new Publishers(kafka);
    afterAll(() => publishers.driver.close());

    /**
     * Runs the Java program and returns its output. It runs from its source, which requires a JDK.
     */
    const java = async (order: 'read' | 'write', topic: string): Promise<readonly string[]> => {
      const { java: command, classPath } = await kafkaJars(DEFAULT_KAFKA_VERSION);
      const program = join(__dirname, '../support/children/DeadLetters.java');
      const flags = [
        '-Dfile.encoding=UTF-8',
        '-XX:+UseSerialGC',
        '-XX:TieredStopAtLevel=1',
        '-cp',
        classPath,
      ];
      const { stdout } = await promisify(execFile)(
        command,
        [...flags, program, order, kafka.brokers.join(), topic],
        { timeout: 50_000, killSignal: 'SIGKILL' },
      );
      return stdout.split('\n').filter((line) => line !== '');
    };

    it('are read by the program if the bus wrote them', async () => {
      const topic = await publishers.topic();
      const report = aFailureReport({ originalPartition: 258, originalOffset: 2n ** 40n });
      await publishers.publish(report, { topic, headerProfile: ['spring'] });
      expect(await java('read', topic)).toEqual([
        'kafka_dlt-exception-cause-fqcn=SqlError',
        'kafka_dlt-exception-fqcn=OutOfStock',
        'kafka_dlt-exception-message=no stock',
        'kafka_dlt-exception-stacktrace=OutOfStock: no stock',
        '    at handle',
        'kafka_dlt-original-consumer-group=shop',
        'kafka_dlt-original-offset=long 1099511627776 rest 0',
        'kafka_dlt-original-partition=int 258 rest 0',
        'kafka_dlt-original-timestamp=long 1700000000000 rest 0',
        'kafka_dlt-original-topic=orders.events',
      ]);
    });

    it('are read by the bus if the program wrote them', async () => {
      const topic = await publishers.topic();
      await java('write', topic);
      const [record] = await publishers.records(topic);
      const letter = readDeadLetter(record!);
      expect(letter).toMatchObject({
        originalTopic: 'deal.events',
        originalPartition: 11,
        originalOffset: 2n ** 40n,
        originalTimestamp: 1_700_000_000_123,
        groupId: 'deals',
        lastExceptionClass: 'org.springframework.kafka.listener.ListenerExecutionFailedException',
        lastExceptionMessage: 'Größe unbekannt',
        lastExceptionStacktrace: 'java.lang.IllegalStateException: Größe unbekannt',
      });
      expect(shown(letter.headers)).toEqual({ tenant: 'north' });
    });
  });
});

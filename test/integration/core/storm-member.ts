import type {
  AssignmentListener,
  BrokerDriver,
  ConsumerSession,
  TopicPartition,
} from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import {
  BatchProcessingException,
  ContainerRegistry,
  EventBusConnector,
  EventBusModule,
  EventHandler,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { overriding } from './children/overriding.js';
import type { Properties } from './orders-stage.js';
import type { StormLedger, Tenure } from './storm-ledger.js';

export interface StormMemberOptions {
  readonly brokers: readonly string[];
  readonly binding: Properties & { readonly topic: string; readonly groupId: string };
  readonly ledger: StormLedger;
  readonly takesSlices: boolean;
  /** What a handler does with one record, or with a slice; gives the index of the one that fails. */
  work(
    records: readonly EventRecord[],
    contexts: readonly EventContext[],
  ): Promise<number | undefined>;
}

/** An application in the group that tells the ledger what it has, begins, does and commits. */
export class StormMember {
  readonly #options: StormMemberOptions;
  readonly #driver: BrokerDriver;
  readonly #tenures = new Map<number, Tenure>();
  #application: INestApplicationContext | undefined;

  constructor(options: StormMemberOptions) {
    this.#options = options;
    this.#driver = kafkajs({ brokers: options.brokers });
  }

  async start(): Promise<void> {
    class App {}
    const { binding } = this.#options;
    const imports = [
      EventBusModule.forRoot({
        driver: this.#watched(this.#driver),
        shutdown: { drainTimeoutMs: DRAIN_MS },
        bindings: { orders: binding },
      }),
    ];
    this.#application = await NestFactory.createApplicationContext(
      { module: App, imports, providers: [this.#handlers()] },
      { logger: false, abortOnError: false },
    );
  }

  /** What it has, and what keeps it from going on. */
  describe(): string {
    if (!this.#application) return 'not started';
    const { mainContainer } = this.#application.get(ContainerRegistry).require('orders');
    const { state, assignment, partitionPauses, runningHandlers } = mainContainer.status;
    const partitions = assignment.map(({ partition }) => partition);
    const { bindings } = this.#application.get(EventBusConnector).health();
    const reasons = bindings.flatMap((binding) => binding.reasons);
    return JSON.stringify({ state, partitions, partitionPauses, runningHandlers, reasons });
  }

  async leave(): Promise<void> {
    for (const tenure of this.#tenures.values()) tenure.end();
    await this.#application?.close();
    await this.#driver.close();
  }

  async #handle(records: readonly EventRecord[], contexts: readonly EventContext[]): Promise<void> {
    const { ledger, work } = this.#options;
    const [first] = records;
    if (!first) return;
    const { partition } = first;
    const offsets = records.map(({ offset }) => Number(offset));
    const tenure = this.#tenures.get(partition);
    offsets.forEach((offset, index) =>
      ledger.begin(tenure, partition, offset, offsets.slice(0, index)),
    );
    const failed = await work(records, contexts);
    offsets.forEach((offset, index) => {
      if (failed === undefined || index < failed) ledger.finish(tenure, offset);
      else if (index === failed) ledger.fail(tenure, offset);
      else ledger.giveBack(tenure, offset);
    });
    if (failed !== undefined) throw this.#failureOf(failed);
  }

  #failureOf(index: number): Error {
    const message = 'the warehouse does not answer';
    if (!this.#options.takesSlices) return new Error(message);
    return new BatchProcessingException(index, message);
  }

  #handlers() {
    const handle = (
      records: readonly EventRecord[],
      contexts: readonly EventContext[],
    ): Promise<void> => this.#handle(records, contexts);
    @Injectable()
    class OneByOne {
      @EventHandler('orders')
      onOrder(record: EventRecord, context: EventContext): Promise<void> {
        return handle([record], [context]);
      }
    }
    @Injectable()
    class BySlices {
      @EventHandler.Batch('orders')
      onOrders(records: readonly EventRecord[], contexts: readonly EventContext[]): Promise<void> {
        return handle(records, contexts);
      }
    }
    return this.#options.takesSlices ? BySlices : OneByOne;
  }

  #watched(driver: BrokerDriver): BrokerDriver {
    const consumer: BrokerDriver['consumer'] = (options) => {
      const session = driver.consumer(options);
      const start: ConsumerSession['start'] = (listener, signal) =>
        session.start(this.#listening(listener), signal);
      const commit: ConsumerSession['commit'] = (offsets) => {
        for (const each of offsets) this.#options.ledger.commit(each);
        return session.commit(offsets);
      };
      return overriding(session, { start, commit });
    };
    return overriding(driver, { consumer });
  }

  #listening(listener: AssignmentListener): AssignmentListener {
    return {
      onAssigned: (partitions) => {
        for (const { partition } of partitions)
          this.#tenures.set(
            partition,
            this.#options.ledger.open(partition, this.#options.takesSlices),
          );
        return listener.onAssigned(partitions);
      },
      onRevoked: async (partitions) => {
        const tenures = this.#of(partitions);
        for (const tenure of tenures) tenure.revoke();
        await listener.onRevoked(partitions);
        this.#close(tenures);
      },
      onLost: (partitions) => {
        const tenures = this.#of(partitions);
        for (const tenure of tenures) tenure.isLost = true;
        this.#close(tenures);
        return listener.onLost(partitions);
      },
      onStopped: (error) => listener.onStopped?.(error),
      onReset: (reset) => listener.onReset?.(reset),
    };
  }

  #of(partitions: readonly TopicPartition[]): readonly Tenure[] {
    return partitions.flatMap(({ partition }) => this.#tenures.get(partition) ?? []);
  }

  #close(tenures: readonly Tenure[]): void {
    for (const tenure of tenures) {
      tenure.end();
      tenure.isOver = true;
      if (this.#tenures.get(tenure.partition) === tenure) this.#tenures.delete(tenure.partition);
    }
  }
}

/** Less than a handler may take: some end too late. */
export const DRAIN_MS = 200;

import type {
  AssignmentListener,
  BrokerDriver,
  ConsumerSession,
  TopicPartition,
} from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import {
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
  /** What a handler does; it may throw. */
  work(record: EventRecord, context: EventContext): Promise<void>;
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

  async #handle(record: EventRecord, context: EventContext): Promise<void> {
    const { ledger, work } = this.#options;
    const { partition } = record;
    const offset = Number(record.offset);
    const tenure = this.#tenures.get(partition);
    ledger.begin(tenure, partition, offset);
    try {
      await work(record, context);
    } catch (error) {
      ledger.fail(tenure, offset);
      throw error;
    }
    ledger.finish(tenure, offset);
  }

  #handlers() {
    const handle = (record: EventRecord, context: EventContext): Promise<void> =>
      this.#handle(record, context);
    @Injectable()
    class Handlers {
      @EventHandler('orders')
      onOrder(record: EventRecord, context: EventContext): Promise<void> {
        return handle(record, context);
      }
    }
    return Handlers;
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
          this.#tenures.set(partition, this.#options.ledger.open(partition));
        return listener.onAssigned(partitions);
      },
      onRevoked: async (partitions) => {
        const tenures = this.#of(partitions);
        for (const tenure of tenures) tenure.end();
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

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
import type { Properties } from './orders-test-bus.js';
import type { DeliveryAudit, AssignedPartition } from './delivery-audit.js';

export interface StormMemberOptions {
  readonly brokers: readonly string[];
  readonly binding: Properties & { readonly topic: string; readonly groupId: string };
  readonly audit: DeliveryAudit;
  readonly takesSlices: boolean;
  /** Handles one record or one slice; returns the index of the record that fails. */
  handle(
    records: readonly EventRecord[],
    contexts: readonly EventContext[],
  ): Promise<number | undefined>;
}

/** An application in the group that reports its assignments, calls and commits to the audit. */
export class StormMember {
  readonly #options: StormMemberOptions;
  readonly #driver: BrokerDriver;
  readonly #assigned = new Map<number, AssignedPartition>();
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
        driver: this.#auditCommitsOf(this.#driver),
        shutdown: { drainTimeoutMs: DRAIN_MS },
        bindings: { orders: binding },
      }),
    ];
    this.#application = await NestFactory.createApplicationContext(
      { module: App, imports, providers: [this.#handlers()] },
      { logger: false, abortOnError: false },
    );
  }

  /** State of the member and what keeps it from making progress. */
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
    for (const assigned of this.#assigned.values()) assigned.end();
    await this.#application?.close();
    await this.#driver.close();
  }

  async #handle(records: readonly EventRecord[], contexts: readonly EventContext[]): Promise<void> {
    const { audit, handle } = this.#options;
    const [first] = records;
    if (!first) return;
    const { partition } = first;
    const offsets = records.map(({ offset }) => Number(offset));
    const assigned = this.#assigned.get(partition);
    offsets.forEach((offset, index) =>
      audit.begin(assigned, partition, offset, offsets.slice(0, index)),
    );
    const failed = await handle(records, contexts);
    offsets.forEach((offset, index) => {
      if (failed === undefined || index < failed) audit.finish(assigned, offset);
      else if (index === failed) audit.fail(assigned, offset);
      else audit.returnToPartition(assigned, offset);
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
    class RecordHandler {
      @EventHandler('orders')
      onOrder(record: EventRecord, context: EventContext): Promise<void> {
        return handle([record], [context]);
      }
    }
    @Injectable()
    class BatchHandler {
      @EventHandler.Batch('orders')
      onOrders(records: readonly EventRecord[], contexts: readonly EventContext[]): Promise<void> {
        return handle(records, contexts);
      }
    }
    return this.#options.takesSlices ? BatchHandler : RecordHandler;
  }

  #auditCommitsOf(driver: BrokerDriver): BrokerDriver {
    const consumer: BrokerDriver['consumer'] = (options) => {
      const session = driver.consumer(options);
      const start: ConsumerSession['start'] = (listener, signal) =>
        session.start(this.#auditAssignments(listener), signal);
      const commit: ConsumerSession['commit'] = (offsets) => {
        for (const each of offsets) this.#options.audit.commit(each);
        return session.commit(offsets);
      };
      return overriding(session, { start, commit });
    };
    return overriding(driver, { consumer });
  }

  #auditAssignments(listener: AssignmentListener): AssignmentListener {
    return {
      onAssigned: (partitions) => {
        for (const { partition } of partitions)
          this.#assigned.set(
            partition,
            this.#options.audit.assign(partition, this.#options.takesSlices),
          );
        return listener.onAssigned(partitions);
      },
      onRevoked: async (partitions) => {
        const assignedPartitions = this.#of(partitions);
        for (const assigned of assignedPartitions) assigned.revoke();
        await listener.onRevoked(partitions);
        this.#close(assignedPartitions);
      },
      onLost: (partitions) => {
        const assignedPartitions = this.#of(partitions);
        for (const assigned of assignedPartitions) assigned.isLost = true;
        this.#close(assignedPartitions);
        return listener.onLost(partitions);
      },
      onStopped: (error) => listener.onStopped?.(error),
      onReset: (reset) => listener.onReset?.(reset),
    };
  }

  #of(partitions: readonly TopicPartition[]): readonly AssignedPartition[] {
    return partitions.flatMap(({ partition }) => this.#assigned.get(partition) ?? []);
  }

  #close(assignedPartitions: readonly AssignedPartition[]): void {
    for (const assigned of assignedPartitions) {
      assigned.end();
      assigned.hasEnded = true;
      if (this.#assigned.get(assigned.partition) === assigned)
        this.#assigned.delete(assigned.partition);
    }
  }
}

/** Shorter than the slowest handler, so that some handlers end too late. */
export const DRAIN_MS = 200;

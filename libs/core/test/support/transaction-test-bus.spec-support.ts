import type { OutgoingRecord } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from './test-bus.spec-support.js';

export const SHORT_TIMEOUTS = {
  sessionTimeoutMs: 6_000,
  heartbeatIntervalMs: 1_000,
  rebalance: { drainTimeoutMs: 1_000 },
};

interface Process {
  readonly name?: string;
  readonly idPrefix?: string;
  readonly provider?: new () => object;
  readonly properties?: object;
}

/** A test bus with a binding `orders` whose handlers send one output per record in a transaction. */
export class TransactionTestBus extends TestBus {
  /** Values of the handled records, once per call. */
  readonly called: string[] = [];
  /** Runs after the output of a record was sent. */
  act: (value: string, call: number) => unknown = () => undefined;

  static async create(): Promise<TransactionTestBus> {
    const testBus = new TransactionTestBus();
    await testBus.topic('orders', 2);
    await testBus.topic('out');
    return testBus;
  }

  /** Starts an application as a process of its own, with its own connection to the broker. */
  startProcess({
    name = 'bus',
    idPrefix,
    provider = this.recordHandler(),
    properties = {},
  }: Process = {}): Promise<TestingModule> {
    return this.startOrders(
      [provider],
      {
        ...SHORT_TIMEOUTS,
        transactions: { enabled: true, ...(idPrefix && { idPrefix }) },
        ...properties,
      },
      { driver: memory({ broker: this.broker, clientId: name, requestTimeoutMs: 3_000 }) },
    );
  }

  /** Outputs that a read_committed consumer sees. */
  async outputs(): Promise<readonly string[]> {
    return (await this.records('out')).map(({ value }) => String(value));
  }

  recordHandler() {
    const send = (record: EventRecord, context: EventContext): Promise<void> =>
      this.#send(record, context);
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle(record: EventRecord, context: EventContext): Promise<void> {
        return send(record, context);
      }
    }
    return Orders;
  }

  batchHandler() {
    const send = (record: EventRecord, context: EventContext): Promise<void> =>
      this.#send(record, context, (message) => context.transaction.send([message]));
    @Injectable()
    class Batches {
      @EventHandler.Batch('orders')
      async handle(
        records: readonly EventRecord[],
        contexts: readonly EventContext[],
      ): Promise<void> {
        for (const [index, record] of records.entries()) await send(record, contexts[index]!);
      }
    }
    return Batches;
  }

  handlerWithoutOutput() {
    const { called } = this;
    @Injectable()
    class WithoutOutput {
      @EventHandler('orders')
      handle(record: EventRecord): void {
        called.push(valueOf(record));
      }
    }
    return WithoutOutput;
  }

  async #send(
    record: EventRecord,
    { transaction, attempt }: EventContext,
    send = (message: OutgoingRecord): void => transaction.send(message),
  ): Promise<void> {
    const value = valueOf(record);
    this.called.push(value);
    send({ topic: 'out', key: value, value });
    await this.act(value, attempt.total);
  }
}

export const valueOf = ({ value }: EventRecord): string => String(value);

export const valuesUpTo = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${index}`);

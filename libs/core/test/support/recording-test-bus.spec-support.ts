import type { BrokerRecord } from '@nest-event-bus/broker';
import { Injectable, type ModuleMetadata, type Provider } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { DeliveryAttempt, EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { headerText } from '../../src/model/records/header-text.js';
import { TestBus } from './test-bus.spec-support.js';

export interface RecordedCall {
  readonly value: unknown;
  readonly at: number;
  readonly topic: string;
  readonly attempt: DeliveryAttempt;
  readonly dedupKey: string;
}

export const fail = (): never => {
  throw new Error('the warehouse does not answer');
};

/** A test bus with the topics of a binding `orders`, whose handler records its calls. By default every call fails. */
export class RecordingTestBus extends TestBus {
  static readonly topics: readonly string[] = [
    'orders',
    'orders.retry-1',
    'orders.retry-2',
    'orders.retry-3',
    'orders.DLT',
  ];

  readonly calls: RecordedCall[] = [];
  handle: (record: EventRecord, context: EventContext) => unknown = fail;

  static async create(): Promise<RecordingTestBus> {
    const testBus = new RecordingTestBus();
    for (const topic of RecordingTestBus.topics) await testBus.topic(topic);
    return testBus;
  }

  startHandler(
    properties: Partial<TopicBindingProperties> = {},
    providers: readonly Provider[] = [],
    imports: NonNullable<ModuleMetadata['imports']> = [],
  ): Promise<TestingModule> {
    return this.startOrders([this.#handler(), ...providers], properties, {}, imports);
  }

  /** Values of the topic's records as text. */
  async values(topic: string): Promise<readonly (string | null)[]> {
    return (await this.records(topic)).map(({ value }) => value?.toString() ?? null);
  }

  deadLetters(): Promise<readonly (string | null)[]> {
    return this.values('orders.DLT');
  }

  #handler() {
    const called = (record: EventRecord, context: EventContext): unknown =>
      this.#called(record, context);
    @Injectable()
    class Orders {
      @EventHandler('orders')
      async onOrder(record: EventRecord, context: EventContext): Promise<unknown> {
        return called(record, context);
      }
    }
    return Orders;
  }

  #called(record: EventRecord, context: EventContext): unknown {
    const { attempt, dedupKey } = context;
    const at = this.runtime.now();
    this.calls.push({ value: record.value, at, topic: record.topic, attempt, dedupKey });
    return this.handle(record, context);
  }
}

/** Returns the text of a header of profile `eventbus`, by its name without prefix. */
export const eventbusHeader = ({ headers }: BrokerRecord, name: string): string | undefined =>
  headerText(headers, `x-eventbus-${name}`);

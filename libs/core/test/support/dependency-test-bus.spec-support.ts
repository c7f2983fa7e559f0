import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from './test-bus.spec-support.js';

/** Timeouts that let a test wait longer than a session. */
export const SHORT_TIMEOUTS = {
  sessionTimeoutMs: 6_000,
  heartbeatIntervalMs: 1_000,
  rebalance: { drainTimeoutMs: 2_000 },
};

/** A test bus with a binding `orders` of two partitions, whose handler fails while its dependency is down. */
export class DependencyTestBus extends TestBus {
  /** Calls of the handler; a place is `partition/offset`. */
  readonly calls: { readonly at: number; readonly place: string; readonly attempt: object }[] = [];
  /** Places of the records whose handler has succeeded. */
  readonly handled: string[] = [];
  isDown = true;
  handlerMs = 0;
  failWith: () => Error = () => new Error('no stock');

  static async create(): Promise<DependencyTestBus> {
    const testBus = new DependencyTestBus();
    const retryTopics = [1, 2, 3].map((tier) => `orders.retry-${tier}`);
    for (const topic of ['orders', ...retryTopics, 'orders.DLT']) await testBus.topic(topic, 2);
    return testBus;
  }

  startHandler(properties: Partial<TopicBindingProperties> = {}): Promise<TestingModule> {
    return this.startOrders([this.handler()], { ...SHORT_TIMEOUTS, ...properties });
  }

  handler() {
    const handled = (record: EventRecord, context: EventContext): Promise<void> =>
      this.#handle(record, context);
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle(record: EventRecord, context: EventContext): Promise<void> {
        return handled(record, context);
      }
    }
    return Orders;
  }

  async #handle({ partition, offset }: EventRecord, { attempt }: EventContext): Promise<void> {
    const place = `${partition}/${offset}`;
    this.calls.push({ at: this.runtime.monotonic(), place, attempt });
    await sleep(this.runtime, this.handlerMs);
    if (this.isDown) throw this.failWith();
    this.handled.push(place);
  }

  writeOrders(count: number, partition = 0): Promise<void> {
    const values = Array.from({ length: count }, (_, id) => ({ partition, value: `${id}` }));
    return this.write('orders', ...values);
  }

  async values(topic: string): Promise<readonly (string | undefined)[]> {
    return (await this.records(topic)).map(({ value }) => value?.toString());
  }

  /** Times between one call and the next, in ms. */
  gaps(): number[] {
    return this.calls.slice(1).map(({ at }, index) => at - this.calls[index]!.at);
  }

  attempts(): object[] {
    return this.calls.map(({ attempt }) => attempt);
  }
}

export const registrationOf = (application: INestApplicationContext) =>
  application.get(ContainerRegistry).require('orders');

/** Places of the first records of a partition. */
export const places = (count: number, partition = 0): string[] =>
  Array.from({ length: count }, (_, offset) => `${partition}/${offset}`);

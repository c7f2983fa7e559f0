import { Inject, Injectable, Module, type OnModuleDestroy } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { BrokerError, ClosedError, type BrokerDriver } from '@nest-event-bus/broker';
import * as contract from '@nest-event-bus/broker/contract';
import * as kafkajs from '@nest-event-bus/broker/kafkajs';
import { memory } from '@nest-event-bus/broker/memory';
import * as runtime from '@nest-event-bus/broker/runtime';
import * as testing from '@nest-event-bus/testing';

const DRIVER = Symbol('driver');

@Injectable()
class Greeter implements OnModuleDestroy {
  constructor(@Inject(DRIVER) private readonly driver: BrokerDriver) {}

  /** Sends a record and returns what a consumer reads. */
  async greet(name: string): Promise<string | undefined> {
    await this.driver.admin().createTopics([{ name: 'greetings', partitions: 1 }]);
    const consumer = this.driver.consumer({ groupId: 'pack-check', topics: ['greetings'] });
    const nothing = (): void => undefined;
    await consumer.start({ onAssigned: nothing, onRevoked: nothing, onLost: nothing });
    await this.driver.producer().send([{ topic: 'greetings', value: `hello ${name}` }]);
    const [record] = await consumer.poll(1);
    return record?.value?.toString();
  }

  async onModuleDestroy(): Promise<void> {
    await this.driver.close();
  }
}

@Module({ providers: [{ provide: DRIVER, useFactory: () => memory() }, Greeter] })
class GreeterModule {}

describe('The installed packages in a Nest application', () => {
  it('send a record through the memory driver and receive it', async () => {
    const module = await Test.createTestingModule({ imports: [GreeterModule] }).compile();
    await expect(module.get(Greeter).greet('Nest')).resolves.toBe('hello Nest');
    await module.close();
  });

  it('export something from every entry point', () => {
    for (const entryPoint of [contract, kafkajs, runtime, testing]) {
      expect(Object.keys(entryPoint)).not.toEqual([]);
    }
  });

  it('throw errors that are instances of the exported classes', () => {
    expect(new ClosedError('closed')).toBeInstanceOf(BrokerError);
  });
});

// An application whose handlers take some time. Prints when one begins, and when partitions are
// lost. It is suspended for longer than its session.
import { EventBusModule, EventHandler, type EventRecord } from '@nest-event-bus/core';
import { Injectable, Module, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout } from 'node:timers/promises';

interface Settings {
  readonly brokers: readonly string[];
  readonly binding: { readonly topic: string; readonly groupId: string };
  readonly handlerMs: number;
  readonly takesBatches: boolean;
  /** The first call of each record fails, so that it goes to the retry topic. */
  readonly firstCallFails: boolean;
}

const { brokers, binding, handlerMs, takesBatches, firstCallFails } = JSON.parse(
  process.argv[2] ?? '',
) as Settings;
const print = (line: object): void =>
  void process.stdout.write(`${JSON.stringify({ at: Date.now(), ...line })}\n`);
const failed = new Set<string>();

async function work(key: string): Promise<void> {
  if (firstCallFails && !failed.has(key)) {
    failed.add(key);
    throw new Error('the warehouse does not answer');
  }
  print({ kind: 'began', key });
  await setTimeout(handlerMs);
}

@Injectable()
class RecordHandlers {
  @EventHandler('orders')
  handle({ key }: EventRecord): Promise<void> {
    return work(String(key));
  }
}

@Injectable()
class BatchHandlers {
  @EventHandler.Batch('orders')
  async handle(records: readonly EventRecord[]): Promise<void> {
    await work(records.map(({ key }) => String(key)).join());
  }
}

function printLoss(...parts: readonly unknown[]): void {
  if (parts.some((part) => String(part).includes('Partitions lost'))) print({ kind: 'lost' });
}

const logger: LoggerService = { log: () => undefined, warn: printLoss, error: printLoss };

@Module({
  imports: [EventBusModule.forRoot({ brokers, bindings: { orders: binding } })],
  providers: [takesBatches ? BatchHandlers : RecordHandlers],
})
class OrdersModule {}

await NestFactory.createApplicationContext(OrdersModule, { logger });
print({ kind: 'started' });

// A handler that fails: calls in memory, a retry topic, then the dead-letter topic with an alert.
import {
  DltAlert,
  EventBusModule,
  EventHandler,
  EventPublisher,
  NonRetryableException,
  type DltRecord,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { driver } from '../support/driver.js';
import { until } from '../support/until.js';

class CardDeclined extends NonRetryableException {}

const deadLetters: string[] = [];

@Injectable()
class PaymentHandlers {
  @EventHandler('payments')
  onPayment({ value }: EventRecord<{ id: number; declined: boolean }>, ctx: EventContext): void {
    const { tier, call } = ctx.attempt;
    console.log(`payment ${value.id}: tier ${tier}, call ${call}`);
    if (value.declined) throw new CardDeclined('the bank said no');
    throw new Error('the bank does not answer');
  }

  @DltAlert('payments')
  onDeadLetter({ dltReason, lastExceptionClass, totalAttempts }: DltRecord): void {
    console.log(`dead letter: ${dltReason}, ${lastExceptionClass}, ${totalAttempts} calls`);
    deadLetters.push(dltReason);
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      driver,
      bindings: {
        payments: {
          topic: 'retries.payments',
          groupId: 'retries',
          provisioning: 'create',
          retry: {
            tier0: { maxAttempts: 2, initialBackoffMs: '10ms' },
            tiers: [{ delayMs: '200ms', maxAttempts: 1 }],
          },
          dlt: { strategy: 'ALERT_AND_STORE' },
        },
      },
    }),
  ],
  providers: [PaymentHandlers],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const publisher = app.get(EventPublisher);
await publisher.publish('payments', { id: 1, declined: true }, { key: 'anna' });
await until(() => deadLetters.length === 1);
await publisher.publish('payments', { id: 2, declined: false }, { key: 'anna' });
await until(() => deadLetters.length === 2);
await app.close();

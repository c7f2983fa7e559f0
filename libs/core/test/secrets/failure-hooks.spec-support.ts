import { Injectable, type Type } from '@nestjs/common';
import { DltAlert, DltHandler } from '../../src/discovery/decorators/dlt-decorators.js';
import {
  EXCEPTION_CLASSIFIER,
  KAFKA_ERROR_HANDLER_OPTIONS,
} from '../../src/discovery/decorators/tokens.js';
import { KafkaErrorHandler } from '../../src/failures/routing/kafka-error-handler.js';
import {
  MARKED_TEXT,
  markedError,
  throwMarked,
  type MarkedHook,
} from './marked-test-bus.spec-support.js';
import { handling, failing } from './marked-hosts.spec-support.js';

const dltProviders = (decorate: MethodDecorator): Type => {
  @Injectable()
  class DeadLetters {
    onDeadLetter(): void {
      throwMarked();
    }
  }
  decorate(
    DeadLetters.prototype,
    'onDeadLetter',
    Object.getOwnPropertyDescriptor(DeadLetters.prototype, 'onDeadLetter')!,
  );
  return DeadLetters;
};

const store = (method: 'claim' | 'complete' | 'release') => ({
  claim: () => 'new' as const,
  complete: () => undefined,
  release: () => undefined,
  [method]: () => {
    throw Object.assign(markedError(), {
      message: `Duplicate entry '${MARKED_TEXT}' for key 'PRIMARY'`,
      code: 'ER_DUP_ENTRY',
      errno: 1062,
    });
  },
});

const matcher = { matches: throwMarked };

/** What is called if a record fails, or may have been handled before. */
export const FAILURE_HOOKS: Readonly<Record<string, MarkedHook>> = {
  '@DltHandler, DltRecordHandler': {
    properties: { dlt: { strategy: 'CUSTOM' } },
    providers: [failing, dltProviders(DltHandler('orders'))],
  },
  '@DltAlert, DltAlertHandler': {
    properties: { dlt: { strategy: 'ALERT_AND_STORE' } },
    providers: [failing, dltProviders(DltAlert('orders'))],
  },
  KAFKA_ERROR_HANDLER_OPTIONS: {
    providers: [
      handling(),
      {
        provide: KAFKA_ERROR_HANDLER_OPTIONS,
        useValue: { exceptionDetail: 'full', redact: throwMarked },
      },
    ],
    act: async (application, testBus) => {
      const [record] = await testBus.records('orders');
      await testBus.topic('orders-dlq');
      await application
        .get(KafkaErrorHandler, { strict: false })
        .routeToDlq(record as never, markedError());
    },
  },

  'bindings.*.classifier, ExceptionClassifier': {
    properties: { classifier: { classify: throwMarked } },
    providers: [failing],
  },
  EXCEPTION_CLASSIFIER: {
    providers: [failing, { provide: EXCEPTION_CLASSIFIER, useValue: { classify: throwMarked } }],
  },
  'bindings.*.exceptionRouting[].match': {
    properties: { exceptionRouting: [{ match: matcher, routing: 'DEAD_LETTER' }] },
    providers: [failing],
  },
  'bindings.*.retry.retryableExceptions': {
    properties: { retry: { tier0: { maxAttempts: 2 }, retryableExceptions: [matcher] } },
    providers: [failing],
  },
  'bindings.*.retry.nonRetryableExceptions': {
    properties: { retry: { tier0: { maxAttempts: 2 }, nonRetryableExceptions: [matcher] } },
    providers: [failing],
  },
  'bindings.*.retry.skipToTierMapping[].match': {
    properties: {
      retry: {
        tiers: [{ delayMs: 500, maxAttempts: 1 }],
        skipToTierMapping: [{ match: matcher, tier: 1 }],
      },
    },
    providers: [failing],
  },
  errorTypes: {
    properties: { retry: { tier0: { maxAttempts: 2 }, retryableExceptions: ['Marked'] } },
    options: { errorTypes: { Marked: Object.assign(class Marked extends Error {}, matcher) } },
    providers: [failing],
  },
  'bindings.*.circuitBreaker: listeners of transitions': {
    properties: {
      circuitBreaker: { slidingWindowSize: 2, minimumNumberOfCalls: 2, failureRateThreshold: 50 },
    },
    providers: [failing],
    act: async (_, testBus) => {
      for (let index = 0; index < 5; index++) await testBus.writeMarked();
    },
  },

  'bindings.*.idempotency.store, IdempotencyStore.claim': {
    properties: { idempotency: { store: store('claim') } },
    providers: [handling()],
  },
  'bindings.*.idempotency.store, IdempotencyStore.claim, processed all the same': {
    properties: { idempotency: { store: store('claim'), onStoreFailure: 'process' } },
    providers: [handling()],
  },
  'bindings.*.idempotency.store, IdempotencyStore.complete': {
    properties: { idempotency: { store: store('complete') } },
    providers: [handling()],
  },
  'bindings.*.idempotency.store, IdempotencyStore.release': {
    properties: { idempotency: { store: store('release') } },
    providers: [failing],
  },
  'bindings.*.idempotency.store: an answer that is none': {
    isCalled: false,
    properties: {
      idempotency: { store: { ...store('release'), claim: () => MARKED_TEXT } },
    },
    providers: [handling()],
  },
  'bindings.*.idempotency.key: a function': {
    properties: { idempotency: { store: store('release'), key: throwMarked } },
    providers: [handling()],
  },
  'bindings.*.idempotency.key: a header': {
    properties: { idempotency: { store: store('complete'), key: { header: 'customer' } } },
    providers: [handling()],
  },
};

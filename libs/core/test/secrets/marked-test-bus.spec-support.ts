import { inspect } from 'node:util';
import type { BrokerRecord } from '@nest-event-bus/broker';
import type { ModuleMetadata } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { EventBusEvents } from '../../src/events/event-bus-events.js';
import type { EventBusEvent } from '../../src/model/events/event-bus-events.js';
import { EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import { TestBus, type Options } from '../support/test-bus.spec-support.js';

/** The part of every marked text that is searched for. */
export const MARK = 's3cr3t';

/** A marked text that is no identifier, and that would begin a log line of its own. */
export const MARKED_TEXT = `${MARK} of jane@example.org\n[Nest] 1 ERROR ${MARK}`;

const thrown = new Set<unknown>();

/** Number of marked errors so far: shows that a hook was called. */
export const markedErrors = (): number => thrown.size;

/** An error that has the mark in every property that libraries use. */
export function markedError(): Error {
  const cause = Object.assign(new Error(MARKED_TEXT), { name: MARKED_TEXT });
  const error = Object.assign(new TypeError(MARKED_TEXT, { cause }), {
    name: MARKED_TEXT,
    code: MARKED_TEXT,
    syscall: MARKED_TEXT,
    address: MARKED_TEXT,
    detail: MARKED_TEXT,
    response: { status: MARKED_TEXT, data: MARKED_TEXT },
  });
  thrown.add(error);
  return error;
}

export const throwMarked = (): never => {
  throw markedError();
};

/** What one hook needs to be called. */
export interface MarkedHook {
  readonly providers?: NonNullable<ModuleMetadata['providers']>;
  readonly properties?: object;
  readonly options?: Options;
  /** False if the hook reads a marked text and throws nothing. */
  readonly isCalled?: false;
  /** True if only the log lines of the bus are searched. */
  readonly ownLogOnly?: boolean;
  /** Calls the bus as an application would. Errors are part of what is searched. */
  readonly act?: (
    application: TestingModule,
    testBus: MarkedTestBus,
    dlt: object,
  ) => Promise<unknown>;
}

/** Everything that leaves the bus, except the original key, value and headers of a record. */
export interface Evidence {
  readonly log: string;
  readonly health: string;
  readonly metrics: string;
  readonly errors: string;
  /** Events as observers see them, without the texts of exceptions. */
  readonly events: string;
  /** Messages and stacks of the exceptions in events. */
  readonly exceptionTexts: string;
  /** Headers in retry and dead-letter topics. */
  readonly headers: readonly (readonly [key: string, value: string])[];
}

const TOPICS = ['orders', 'orders.retry-1', 'orders.DLT'];
const OWN_HEADER = 'customer';

export class MarkedTestBus extends TestBus {
  readonly #errors: unknown[] = [];
  #metrics: unknown[] = [];
  #health: unknown[] = [];
  readonly #events: EventBusEvent[] = [];

  static async create(): Promise<MarkedTestBus> {
    const testBus = new MarkedTestBus();
    for (const topic of TOPICS) await testBus.topic(topic);
    return testBus;
  }

  /** Starts the hook, writes a marked record, and returns what can be seen from outside. */
  async evidenceOf(
    { providers = [], properties = {}, options, act, ownLogOnly = false }: MarkedHook,
    dlt: object,
  ): Promise<Evidence> {
    const application = await this.#start(providers, { ...properties, dlt }, options);
    application
      ?.get(EventBusEvents, { strict: false })
      .all$.subscribe((event) => void this.#events.push(event));
    await this.writeMarked();
    await this.runtime.advance(2_000);
    if (application) {
      this.#read(application);
      await this.#attempt(async () => act?.(application, this, dlt));
      await this.runtime.advance(5_000);
      this.#read(application);
    }
    const headers = [
      ...(await this.#headersIn('orders.retry-1')),
      ...(await this.#headersIn('orders.DLT')),
    ];
    await this.#attempt(() => this.end());
    return {
      log: this.log.everything
        .filter((line) => !ownLogOnly || line.endsWith(' EventBus'))
        .join('\n'),
      health: shown(this.#health),
      metrics: shown(this.#metrics),
      errors: this.#errors.map(shownError).join('\n'),
      events: shown(this.#events.map(withoutTexts)),
      exceptionTexts: shown(this.#events.map(exceptionOf)),
      headers,
    };
  }

  async writeMarked(): Promise<void> {
    const value = JSON.stringify({ id: MARKED_TEXT, type: MARKED_TEXT, version: MARKED_TEXT });
    const headers = [OWN_HEADER, 'event-type', 'schema-version', '__TypeId__'].map((key) => ({
      key,
      value: MARKED_TEXT,
    }));
    await this.write('orders', { key: MARKED_TEXT, value, headers });
  }

  async #start(
    providers: NonNullable<ModuleMetadata['providers']>,
    { dlt, ...properties }: { readonly dlt: object; readonly [key: string]: unknown },
    options: Options = {},
  ): Promise<TestingModule | undefined> {
    const retry = { tier0: { maxAttempts: 2 }, tiers: [{ delayMs: 500, maxAttempts: 1 }] };
    const own = (properties as { readonly dlt?: object }).dlt;
    try {
      return await this.startOrders(
        providers,
        { retry, ...properties, dlt: { ...own, ...dlt } },
        options,
      );
    } catch (error) {
      this.#errors.push(error);
      return undefined;
    }
  }

  /** An error of the application itself, which no one has wrapped, is its own. */
  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await this.done(work());
    } catch (error) {
      if (thrown.has(error)) return;
      this.#errors.push(error);
    }
  }

  #read(application: TestingModule): void {
    this.#health.push(this.health(application));
    this.#metrics.push(application.get(EventBusMetrics, { strict: false }).collect());
  }

  async #headersIn(topic: string): Promise<Evidence['headers']> {
    const original = new Set([OWN_HEADER, 'event-type', 'schema-version', '__TypeId__']);
    return (await this.records(topic)).flatMap((record: BrokerRecord) =>
      record.headers
        .filter(({ key }) => !original.has(key))
        .map(({ key, value }) => [key, String(value)] as const),
    );
  }
}

const shown = (value: unknown): string =>
  `${inspect(value, { depth: 20 })} ${JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))}`;

const exceptionOf = (event: object): object | undefined =>
  'exception' in event ? (event.exception as object) : undefined;

function withoutTexts(event: object): object {
  const exception = exceptionOf(event);
  if (!exception) return event;
  const { message: _, stack: __, ...names } = exception as Readonly<Record<string, unknown>>;
  return { ...event, exception: names };
}

/** All that Nest's logger, a console, JSON and a template can show of an error. */
function shownError(error: unknown): string {
  const { message, stack } = error as Error;
  return [message, stack, String(error), inspect(error, { depth: 20 }), JSON.stringify(error)].join(
    '\n',
  );
}

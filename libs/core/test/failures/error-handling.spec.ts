import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { KAFKA_ERROR_HANDLER_OPTIONS } from '../../src/discovery/decorators/tokens.js';
import { headerText } from '../../src/model/records/header-text.js';
import {
  KafkaErrorHandler,
  type KafkaErrorHandlerOptions,
} from '../../src/failures/routing/kafka-error-handler.js';
import { recordOf } from '../../src/failures/report/failure-report-samples.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import { errorOf, TestBus, type Options } from '../support/test-bus.spec-support.js';

let testBus: TestBus;

beforeEach(async () => {
  testBus = new TestBus();
  await testBus.topic('emails-dlq');
});
afterEach(() => testBus.end());

@Injectable()
class Emails {
  @EventHandler('emails')
  send(): void {}
}

/** Starts an application with these clusters; the cluster named 'far' has a broker of its own. */
async function handlerIn(
  aliases: readonly string[],
  options?: KafkaErrorHandlerOptions,
  more: Partial<Options> = {},
): Promise<KafkaErrorHandler> {
  const far = new MemoryBroker({ runtime: testBus.runtime });
  const driverOf = (alias: string) =>
    memory({ broker: alias === 'far' ? far : testBus.broker, clientId: 'bus' });
  const clusters = Object.fromEntries(aliases.map((alias) => [alias, { driver: driverOf(alias) }]));
  const emails = { topic: 'emails', groupId: 'mailer', cluster: aliases[0]! };
  const bus = EventBusModule.forRoot({
    runtime: testBus.runtime,
    clusters,
    bindings: { emails },
    ...more,
  });
  const provided = options ? [{ provide: KAFKA_ERROR_HANDLER_OPTIONS, useValue: options }] : [];
  const application = await testBus.start({ imports: [bus], providers: [Emails, ...provided] });
  return application.get(KafkaErrorHandler, { strict: false });
}

const route = (handler: KafkaErrorHandler): Promise<string> =>
  testBus.done(handler.routeToDlq(recordOf({ topic: 'emails' }), new Error('no such address')));

const message = async (): Promise<string | undefined> => {
  const [letter] = await testBus.records('emails-dlq');
  return headerText(letter!.headers, 'exception-message');
};

describe('KafkaErrorHandler', () => {
  it.each<[string, string[], KafkaErrorHandlerOptions | undefined]>([
    ['default', ['far', 'default'], undefined],
    ['the only one', ['europe'], undefined],
    ['the configured one', ['far', 'europe'], { cluster: 'europe' }],
  ])('writes to the cluster that is %s', async (_, aliases, options) => {
    await route(await handlerIn(aliases, options));
    expect(await testBus.records('emails-dlq')).toHaveLength(1);
  });

  it('rejects and lists the clusters when it cannot choose one', async () => {
    const error = await errorOf(route(await handlerIn(['far', 'europe'])));
    expect(error).toMatchObject({ code: 'DLT_PUBLISH' });
    expect((error as Error).message).toContain(
      "there are far, europe. Name one in KAFKA_ERROR_HANDLER_OPTIONS: { cluster: 'far' }.",
    );
  });

  it('uses the retry topics of KAFKA_ERROR_HANDLER_OPTIONS', async () => {
    const handler = await handlerIn(['default'], { retryTopics: { emails: 'emails-again' } });
    expect(handler.getRetryTopic('emails')).toBe('emails-again');
  });

  it.each<[KafkaErrorHandlerOptions | undefined, string]>([
    [undefined, ''],
    [{ exceptionDetail: 'full' }, 'no such address'],
    [{ exceptionDetail: undefined }, ''],
  ])(
    'uses dlt.exceptionDetail of the defaults, unless its own options override it: %j',
    async (options, detail) => {
      const defaults = { dlt: { exceptionDetail: 'class' } } as const;
      await route(await handlerIn(['default'], options, { defaults }));
      expect(await message()).toBe(detail);
    },
  );
});

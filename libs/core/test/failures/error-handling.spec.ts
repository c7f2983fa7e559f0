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
import { errorOf, World, type Options } from '../support/application.spec-support.js';

let world: World;

beforeEach(async () => {
  world = new World();
  await world.topic('emails-dlq');
});
afterEach(() => world.end());

@Injectable()
class Emails {
  @EventHandler('emails')
  send(): void {}
}

/** An application with these clusters; the one that is called far has a broker of its own. */
async function handlerIn(
  aliases: readonly string[],
  options?: KafkaErrorHandlerOptions,
  more: Partial<Options> = {},
): Promise<KafkaErrorHandler> {
  const far = new MemoryBroker({ runtime: world.runtime });
  const driverOf = (alias: string) =>
    memory({ broker: alias === 'far' ? far : world.broker, clientId: 'bus' });
  const clusters = Object.fromEntries(aliases.map((alias) => [alias, { driver: driverOf(alias) }]));
  const emails = { topic: 'emails', groupId: 'mailer', cluster: aliases[0]! };
  const bus = EventBusModule.forRoot({
    runtime: world.runtime,
    clusters,
    bindings: { emails },
    ...more,
  });
  const provided = options ? [{ provide: KAFKA_ERROR_HANDLER_OPTIONS, useValue: options }] : [];
  const application = await world.start({ imports: [bus], providers: [Emails, ...provided] });
  return application.get(KafkaErrorHandler, { strict: false });
}

const route = (handler: KafkaErrorHandler): Promise<string> =>
  world.done(handler.routeToDlq(recordOf({ topic: 'emails' }), new Error('no such address')));

const message = async (): Promise<string | undefined> => {
  const [letter] = await world.records('emails-dlq');
  return headerText(letter!.headers, 'exception-message');
};

describe('KafkaErrorHandler of an application', () => {
  it.each<[string, string[], KafkaErrorHandlerOptions | undefined]>([
    ['default', ['far', 'default'], undefined],
    ['the only one', ['europe'], undefined],
    ['the one that is named', ['far', 'europe'], { cluster: 'europe' }],
  ])('writes to the cluster that is %s', async (_, aliases, options) => {
    await route(await handlerIn(aliases, options));
    expect(await world.records('emails-dlq')).toHaveLength(1);
  });

  it('says which clusters there are where it cannot know', async () => {
    const error = await errorOf(route(await handlerIn(['far', 'europe'])));
    expect(error).toMatchObject({ code: 'DLT_PUBLISH' });
    expect((error as Error).message).toContain(
      "There are far, europe. Name it in KAFKA_ERROR_HANDLER_OPTIONS: { cluster: 'far' }.",
    );
  });

  it('has the map of KAFKA_ERROR_HANDLER_OPTIONS', async () => {
    const handler = await handlerIn(['default'], { retryTopics: { emails: 'emails-again' } });
    expect(handler.getRetryTopic('emails')).toBe('emails-again');
  });

  it.each<[KafkaErrorHandlerOptions | undefined, string]>([
    [undefined, ''],
    [{ exceptionDetail: 'full' }, 'no such address'],
    [{ exceptionDetail: undefined }, ''],
  ])(
    'tells of an exception what the defaults do, unless its options say otherwise: %j',
    async (options, told) => {
      const defaults = { dlt: { exceptionDetail: 'class' } } as const;
      await route(await handlerIn(['default'], options, { defaults }));
      expect(await message()).toBe(told);
    },
  );
});

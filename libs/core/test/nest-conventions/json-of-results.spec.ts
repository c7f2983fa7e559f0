import {
  ClassSerializerInterceptor,
  Controller,
  Get,
  Inject,
  Post,
  UseInterceptors,
  type INestApplication,
} from '@nestjs/common';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import type { DltRecord } from '../../src/model/records/dlt-record.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import type { PublishedEvent } from '../../src/publisher/published-event.js';
import { httpRequest, type HttpAnswer } from '../support/http-request.spec-support.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const KEY = Buffer.from([0xff, 0x00]);
const LETTER = {
  topic: 'orders.DLT',
  partition: 1,
  offset: 7,
  timestamp: 1_000,
  leaderEpoch: 0,
  sizeInBytes: 10,
  key: KEY,
  value: Buffer.from('a payload'),
  headers: [{ key: 'token', value: Buffer.from('a secret') }],
};

@Controller()
class OrdersController {
  constructor(@Inject(EventPublisher) private readonly publisher: EventPublisher) {}

  @Post('orders')
  create(): Promise<PublishedEvent> {
    return this.publisher.publish('orders', { id: 1 }, { timestamp: 5 });
  }

  @Get('letter')
  letter(): DltRecord {
    return readDeadLetter(LETTER);
  }
}

@Controller('serialized')
@UseInterceptors(ClassSerializerInterceptor)
class SerializedController extends OrdersController {}

describe('A controller', () => {
  let bus: TestBus;
  let application: INestApplication;

  beforeEach(async () => {
    bus = new TestBus();
    await bus.topic('orders');
    const bindings = { orders: { topic: 'orders', groupId: 'shop' } };
    application = await bus.startHttp(
      {
        imports: [bus.module({ bindings, bindingsWithoutHandler: 'allow' })],
        controllers: [OrdersController, SerializedController],
      },
      () => undefined,
    );
    await application.listen(0, '127.0.0.1');
  });
  afterEach(() => bus.end());

  const ask = (method: string, path: string): Promise<HttpAnswer> =>
    bus.done(httpRequest(application, method, path));

  it.each(['/orders', '/serialized/orders'])(
    'returns a published event as JSON from %s',
    async (path) => {
      expect(await ask('POST', path)).toEqual({
        status: 201,
        body: { topic: 'orders', partition: 0, offset: '0', timestamp: 5 },
      });
    },
  );

  it.each(['/letter', '/serialized/letter'])(
    'returns a dead letter as JSON from %s, without payload and header values',
    async (path) => {
      const { status, body } = await ask('GET', path);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        originalTopic: 'orders.DLT',
        originalOffset: '7',
        key: 'base64:/wA=',
        headers: ['token'],
      });
      expect(JSON.stringify(body)).not.toMatch(/payload|secret/);
    },
  );
});

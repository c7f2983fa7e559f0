import type { BrokerRecord } from '@nest-event-bus/broker';
import { Injectable } from '@nestjs/common';
import type { DltProperties } from '../../src/config/properties/dlt-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const SECRET = 'jane@example.org';

class NoSuchCustomer extends Error {}

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): never {
    throw new NoSuchCustomer(`no customer ${SECRET}`, { cause: new TypeError(SECRET) });
  }
}

let testBus: TestBus;

beforeEach(async () => {
  testBus = new TestBus();
  for (const topic of ['orders', 'orders.retry-1', 'orders.DLT']) await testBus.topic(topic);
});
afterEach(() => testBus.end());

const asText = (records: readonly BrokerRecord[]): string =>
  records
    .flatMap(({ headers }) => headers.map(({ key, value }) => `${key}: ${String(value)}`))
    .join('\n');

/** Lets a record fail; returns its dead letter and all text that was written about it. */
async function textOfFailure(dlt: Partial<Pick<DltProperties, keyof DltProperties>>) {
  const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] };
  await testBus.startOrders([Orders], { retry, dlt });
  await testBus.write('orders', '1');
  await testBus.runtime.advance(10_000);
  const hops = await testBus.records('orders.retry-1');
  const letters = await testBus.records('orders.DLT');
  expect([hops, letters]).toMatchObject([{ length: 1 }, { length: 1 }]);
  const allText = [asText(hops), asText(letters), ...testBus.log.warnings, ...testBus.log.errors];
  return { letter: readDeadLetter(letters[0]!), allText: allText.join('\n') };
}

describe.each(['eventbus', 'spring', 'plain'] as const)(
  'Dead letters in header profile %s',
  (profile) => {
    const headerProfile = [profile];
    const hasStack = profile !== 'plain';

    it('contain the exception message', async () => {
      const { letter, allText } = await textOfFailure({ headerProfile });
      expect(letter).toMatchObject({
        lastExceptionClass: 'NoSuchCustomer',
        lastExceptionMessage: `no customer ${SECRET}`,
        lastExceptionStacktrace: hasStack ? expect.stringContaining(SECRET) : undefined,
      });
      expect(allText).toContain(SECRET);
    });

    it("contain only the exception class with exceptionDetail 'class'", async () => {
      const { letter, allText } = await textOfFailure({ headerProfile, exceptionDetail: 'class' });
      expect(letter).toMatchObject({
        lastExceptionClass: 'NoSuchCustomer',
        lastExceptionMessage: '',
        lastExceptionStacktrace: undefined,
      });
      expect(allText).not.toContain(SECRET);
    });

    it('contain the message and stack that redact returns', async () => {
      const redact = ({ message, stack = '' }: Error) => ({
        message: message.replaceAll(SECRET, '***'),
        stack: stack.replaceAll(SECRET, '***'),
      });
      const { letter, allText } = await textOfFailure({ headerProfile, redact });
      expect(letter).toMatchObject({
        lastExceptionClass: 'NoSuchCustomer',
        lastExceptionMessage: 'no customer ***',
        lastExceptionStacktrace: hasStack ? expect.stringContaining('no customer ***') : undefined,
      });
      expect(allText).not.toContain(SECRET);
    });

    it('contain only the exception class when redact throws', async () => {
      const redact = (): never => {
        throw new Error(SECRET);
      };
      const { letter, allText } = await textOfFailure({ headerProfile, redact });
      expect(letter).toMatchObject({
        lastExceptionClass: 'NoSuchCustomer',
        lastExceptionMessage: '',
      });
      expect(allText).not.toContain(SECRET);
    });
  },
);

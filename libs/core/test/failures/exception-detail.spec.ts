import type { BrokerRecord } from '@nest-event-bus/broker';
import { Injectable } from '@nestjs/common';
import type { DltProperties } from '../../src/config/properties/dlt-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { World } from '../support/application.spec-support.js';

const SECRET = 'jane@example.org';

class NoSuchCustomer extends Error {}

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): never {
    throw new NoSuchCustomer(`no customer ${SECRET}`, { cause: new TypeError(SECRET) });
  }
}

let world: World;

beforeEach(async () => {
  world = new World();
  for (const topic of ['orders', 'orders.retry-1', 'orders.DLT']) await world.topic(topic);
});
afterEach(() => world.end());

const asText = (records: readonly BrokerRecord[]): string =>
  records
    .flatMap(({ headers }) => headers.map(({ key, value }) => `${key}: ${String(value)}`))
    .join('\n');

/** What a record that fails leaves in the topics behind it. */
async function left(dlt: Partial<Pick<DltProperties, keyof DltProperties>>) {
  const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] };
  await world.startOrders([Orders], { retry, dlt });
  await world.write('orders', '1');
  await world.runtime.advance(10_000);
  const hops = await world.records('orders.retry-1');
  const letters = await world.records('orders.DLT');
  expect([hops, letters]).toMatchObject([{ length: 1 }, { length: 1 }]);
  const everything = [asText(hops), asText(letters), ...world.said.warnings, ...world.said.errors];
  return { letter: readDeadLetter(letters[0]!), everything: everything.join('\n') };
}

describe.each(['eventbus', 'spring', 'plain'] as const)('In the profile %s', (profile) => {
  const headerProfile = [profile];
  const hasStack = profile !== 'plain';

  it('an exception is told with its message', async () => {
    const { letter, everything } = await left({ headerProfile });
    expect(letter).toMatchObject({
      lastExceptionClass: 'NoSuchCustomer',
      lastExceptionMessage: `no customer ${SECRET}`,
      lastExceptionStacktrace: hasStack ? expect.stringContaining(SECRET) : undefined,
    });
    expect(everything).toContain(SECRET);
  });

  it("nothing of it but its class is told with exceptionDetail 'class'", async () => {
    const { letter, everything } = await left({ headerProfile, exceptionDetail: 'class' });
    expect(letter).toMatchObject({
      lastExceptionClass: 'NoSuchCustomer',
      lastExceptionMessage: '',
      lastExceptionStacktrace: undefined,
    });
    expect(everything).not.toContain(SECRET);
  });

  it('what redact leaves of it is told, and no more', async () => {
    const redact = ({ message, stack = '' }: Error) => ({
      message: message.replaceAll(SECRET, '***'),
      stack: stack.replaceAll(SECRET, '***'),
    });
    const { letter, everything } = await left({ headerProfile, redact });
    expect(letter).toMatchObject({
      lastExceptionClass: 'NoSuchCustomer',
      lastExceptionMessage: 'no customer ***',
      lastExceptionStacktrace: hasStack ? expect.stringContaining('no customer ***') : undefined,
    });
    expect(everything).not.toContain(SECRET);
  });

  it('nothing but its class is told where redact is broken', async () => {
    const redact = (): never => {
      throw new Error(SECRET);
    };
    const { letter, everything } = await left({ headerProfile, redact });
    expect(letter).toMatchObject({
      lastExceptionClass: 'NoSuchCustomer',
      lastExceptionMessage: '',
    });
    expect(everything).not.toContain(SECRET);
  });
});

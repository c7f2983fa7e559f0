import fc from 'fast-check';
import { normaliseEventType } from '../decorators/event-type.js';
import { handlersOf, matchHandlers } from './match-handlers.js';
import { nearestName } from '../../model/nearest-name.js';

const orders = { name: 'orders', cluster: 'default' };
const ordersEast = { name: 'orders', cluster: 'east' };
const handler = (binding: string, cluster?: string) => ({
  binding,
  cluster,
  origin: 'Orders.handle in AppModule',
});

describe('matchHandlers()', () => {
  it('accepts a handler for each binding and a binding for each handler', () => {
    expect(matchHandlers([orders], [handler('orders'), handler('orders', 'default')])).toEqual([]);
  });

  it.each([
    ['a misspelt name', 'ordres', "Did you mean 'orders'?"],
    ['a name in another case', 'Orders', "Did you mean 'orders'?"],
    ['an unrelated name', 'shipments', 'Configured are: orders.'],
  ])('refuses a handler of a missing binding: %s', (_what, name, hint) => {
    expect(matchHandlers([orders], [handler('orders'), handler(name)])).toEqual([
      `Orders.handle in AppModule handles binding '${name}', which is not configured. ${hint}`,
    ]);
  });

  it('refuses a binding without a handler, unless that is allowed', () => {
    expect(matchHandlers([orders], [])).toEqual([
      expect.stringContaining("Binding 'orders' has no handler. Write a method"),
    ]);
    expect(matchHandlers([orders], [], { bindingsWithoutHandler: 'allow' })).toEqual([]);
  });

  it('refuses a handler whose binding is on another cluster', () => {
    const options = { bindingsWithoutHandler: 'allow' } as const;
    expect(matchHandlers([orders], [handler('orders', 'east')], options)).toEqual([
      "Orders.handle in AppModule handles binding 'orders' of cluster 'east', but it is on 'default'.",
    ]);
  });

  it('handlersOf() returns the handlers with the name and cluster of a binding', () => {
    const [any, east, other] = [handler('orders'), handler('orders', 'east'), handler('returns')];
    expect(handlersOf(orders, [any, east, other])).toEqual([any]);
    expect(handlersOf(ordersEast, [any, east, other])).toEqual([any, east]);
  });
});

describe('nearestName()', () => {
  it('returns the name with the fewest differences, or undefined', () => {
    expect(nearestName('paymnts', ['orders', 'payment', 'payments'])).toBe('payments');
    expect(nearestName('zzz', ['orders'])).toBeUndefined();
  });
});

describe('normaliseEventType()', () => {
  it('removes the suffix Event', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }).filter((type) => !type.endsWith('Event')),
        (type) => normaliseEventType(`${type}Event`) === normaliseEventType(type),
      ),
    );
  });

  it('keeps a name that consists of the suffix only', () => {
    expect(normaliseEventType('Event')).toBe('Event');
  });
});

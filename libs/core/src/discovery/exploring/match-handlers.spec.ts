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

describe('bindings and handlers fit', () => {
  it('where each binding has a handler and each handler a binding', () => {
    expect(matchHandlers([orders], [handler('orders'), handler('orders', 'default')])).toEqual([]);
  });

  it.each([
    ['a slip', 'ordres', "Did you mean 'orders'?"],
    ['a letter of the wrong case', 'Orders', "Did you mean 'orders'?"],
    ['something else', 'shipments', 'Configured are: orders.'],
  ])('not where a handler names a binding that is not there: %s', (_what, name, hint) => {
    expect(matchHandlers([orders], [handler('orders'), handler(name)])).toEqual([
      `Orders.handle in AppModule handles binding '${name}', which is not configured. ${hint}`,
    ]);
  });

  it('not where a binding has no handler, unless that is allowed', () => {
    expect(matchHandlers([orders], [])).toEqual([
      expect.stringContaining("Binding 'orders' has no handler. Write a method"),
    ]);
    expect(matchHandlers([orders], [], { bindingsWithoutHandler: 'allow' })).toEqual([]);
  });

  it('not where the binding is on another cluster', () => {
    const options = { bindingsWithoutHandler: 'allow' } as const;
    expect(matchHandlers([orders], [handler('orders', 'east')], options)).toEqual([
      "Orders.handle in AppModule handles binding 'orders' of cluster 'east', but it is on 'default'.",
    ]);
  });

  it('and a binding gets the handlers of its name and cluster', () => {
    const [any, east, other] = [handler('orders'), handler('orders', 'east'), handler('returns')];
    expect(handlersOf(orders, [any, east, other])).toEqual([any]);
    expect(handlersOf(ordersEast, [any, east, other])).toEqual([any, east]);
  });
});

describe('the nearest name', () => {
  it('is the one with the fewest differences, or none', () => {
    expect(nearestName('paymnts', ['orders', 'payment', 'payments'])).toBe('payments');
    expect(nearestName('zzz', ['orders'])).toBeUndefined();
  });
});

describe('types of events', () => {
  it('are one type with and without the suffix', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }).filter((type) => !type.endsWith('Event')),
        (type) => normaliseEventType(`${type}Event`) === normaliseEventType(type),
      ),
    );
  });

  it('keep a name that is nothing but the suffix', () => {
    expect(normaliseEventType('Event')).toBe('Event');
  });
});

import type { TopicNamingStrategy } from '../../model/extension-points/topic-naming-strategy.js';
import { complaintsOf, orders, resolvedOrders } from '../configuration.spec-support.js';
import { resolveOptions } from './resolve-options.js';

/**
 * Names retry and dead-letter topics by group, so that two groups of one main topic have their own.
 */
const byGroup: TopicNamingStrategy = {
  retryTopic: (topic, tier) => `${topic}.shop.again-${tier}`,
  deadLetterTopic: (topic) => `${topic}.shop.dead`,
};

const namesOf = (properties: object) => {
  const { retry, dlt } = resolvedOrders(properties);
  return [...retry.tiers.map(({ topic }) => topic), dlt.topic];
};

const NAME =
  "a topic name: up to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and not '.' or '..'";

const tiers = { tiers: [{ delayMs: 1 }, { delayMs: 2 }] };

describe('topicNames()', () => {
  it('joins suffixes if there is no naming strategy', () => {
    const { topic } = resolvedOrders({});
    expect(namesOf({ retry: tiers })).toEqual([
      `${topic}.retry-1`,
      `${topic}.retry-2`,
      `${topic}.DLT`,
    ]);
  });

  it('returns the names of the strategy for the original topic', () => {
    const { topic } = resolvedOrders({});
    expect(namesOf({ retry: tiers, naming: byGroup })).toEqual([
      `${topic}.shop.again-1`,
      `${topic}.shop.again-2`,
      `${topic}.shop.dead`,
    ]);
  });

  it('uses dlt.topic if it is set', () => {
    expect(namesOf({ retry: tiers, naming: byGroup, dlt: { topic: 'graveyard' } }).at(-1)).toBe(
      'graveyard',
    );
  });

  it('uses the naming strategy of a binding, otherwise that of all bindings', () => {
    const dashes: TopicNamingStrategy = {
      retryTopic: (topic, tier) => `${topic}-r${tier}`,
      deadLetterTopic: (topic) => `${topic}-d`,
    };
    const loaders = [{ defaults: { naming: dashes } }];
    const resolved = (properties: object) =>
      resolveOptions(orders(properties), { loaders }).bindings[0]!.dlt.topic;
    expect(resolved({})).toMatch(/-d$/);
    expect(resolved({ naming: byGroup })).toMatch(/\.shop\.dead$/);
  });

  it.each([
    ['a text', 'orders.dead', "'orders.dead'"],
    ['a class', class Names {}, 'the class Names'],
    ['an object with one method only', { retryTopic: () => 'x' }, 'an object'],
  ])('refuses a naming strategy that is %s', (_, naming, shown) => {
    expect(complaintsOf(() => resolvedOrders({ naming: naming as never }))).toEqual([
      `REFERENCE bindings.orders.naming: must be an object with the methods retryTopic(topic, tier) and deadLetterTopic(topic); got ${shown}.`,
    ]);
  });

  it('refuses every illegal name that a naming strategy returns', () => {
    const naming = { retryTopic: () => 'a b', deadLetterTopic: () => undefined as never };
    expect(complaintsOf(() => resolvedOrders({ retry: tiers, naming }))).toEqual([
      `NAMING bindings.orders.naming: retryTopic('orders.events', 1) must return ${NAME}; it returned 'a b'.`,
      `NAMING bindings.orders.naming: retryTopic('orders.events', 2) must return ${NAME}; it returned 'a b'.`,
      `NAMING bindings.orders.naming: deadLetterTopic('orders.events') must return ${NAME}; it returned undefined.`,
    ]);
  });

  it('reports the error that a naming strategy throws', () => {
    const naming = {
      ...byGroup,
      deadLetterTopic: () => {
        throw new Error('no name for that');
      },
    };
    expect(complaintsOf(() => resolvedOrders({ naming }))).toEqual([
      `NAMING bindings.orders.naming: deadLetterTopic('orders.events') threw Error. It must return ${NAME}.`,
    ]);
  });
});

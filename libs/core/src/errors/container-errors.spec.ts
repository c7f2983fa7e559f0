import {
  BindingNotFoundException,
  EventBusShuttingDownException,
  TierNotFoundException,
  UnknownClusterException,
} from './container-errors.js';

describe('The error of a refused command', () => {
  it.each([
    [
      'an unknown binding with a name that is close to it',
      new BindingNotFoundException('ordres', ['orders', 'audit']),
      "There is no binding 'ordres'. Did you mean 'orders'?",
    ],
    [
      'all bindings if no name is close',
      new BindingNotFoundException('x', ['orders', 'audit']),
      "There is no binding 'x'. Registered are: orders, audit.",
    ],
    [
      'what to do if there is no binding at all',
      new BindingNotFoundException('orders', []),
      "There is no binding 'orders'. None is registered: add it to the bindings of the event bus, or register it with EventBusConnector.",
    ],
    [
      'the cluster that is meant',
      new UnknownClusterException('defualt', ['default', 'audit']),
      "There is no cluster 'defualt'. Did you mean 'default'?",
    ],
    [
      'what to do if there is no cluster',
      new UnknownClusterException('default', []),
      "There is no cluster 'default'. None is configured: add it to clusters.",
    ],
    [
      'the tiers of the binding',
      new TierNotFoundException('orders', 4, [1, 2]),
      "Binding 'orders' has no retry tier 4. It has: 1, 2. Name one of them.",
    ],
    [
      'what to do during a shutdown',
      new EventBusShuttingDownException("start binding 'orders'"),
      "Cannot start binding 'orders': the event bus is shutting down. Stop calling it once shutdown has begun; the next process of the application does the work.",
    ],
  ])('names %s', (_what, error, message) => {
    expect(error.message).toBe(message);
  });
});

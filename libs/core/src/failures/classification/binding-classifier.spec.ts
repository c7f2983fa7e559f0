import { resolvedOrders } from '../../config/configuration.spec-support.js';
import { BatchProcessingException } from '../../errors/handler-errors.js';
import { pg } from '../faults/recorded-errors.spec-support.js';
import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';
import type { Failure } from '../../model/outcomes/failed-outcome.js';
import { recordingLogger } from '../../pipeline/pipeline.spec-support.js';
import { classifierOf } from './binding-classifier.js';

const boom = new Error('boom');
const failed = (error: Error, reason: Failure['reason'] = 'retry-exhausted') => ({
  error,
  reason,
});
const answering = (answer: unknown): ExceptionClassifier => ({ classify: () => answer as never });
const pausing = answering(ExceptionRoutingDecision.pauseContainer());
const deadLetter = { decision: ExceptionRoutingDecision.deadLetter() };
const nextTier = { decision: ExceptionRoutingDecision.nextTier() };

function classifierFor(classifier?: ExceptionClassifier, global?: ExceptionClassifier) {
  const logger = recordingLogger();
  const binding = resolvedOrders({ classifier });
  return { logger, classifier: classifierOf(binding, global, logger) };
}

describe('The classifier of a binding', () => {
  it('is that of the library if the application has none', () => {
    const { classifier, logger } = classifierFor();
    expect(classifier.classify(failed(boom), 0)).toEqual({
      ...nextTier,
      isExplicit: false,
      isPermanent: false,
    });
    expect(logger.lines).toEqual([]);
  });

  it('is that of the application, whose decisions are explicit', () => {
    const { classifier } = classifierFor(undefined, pausing);
    const verdict = classifier.classify(failed(boom), 0);
    expect(verdict).toMatchObject({ decision: { routing: 'PAUSE_CONTAINER' }, isExplicit: true });
  });

  it('is its own, if it has one, before that of the application', () => {
    const own = answering(ExceptionRoutingDecision.deadLetter());
    const { classifier } = classifierFor(own, pausing);
    expect(classifier.classify(failed(boom), 0)).toEqual({
      ...deadLetter,
      isExplicit: true,
      isPermanent: true,
    });
  });

  it('gets the error of the handler and the tier, and is called as a method', () => {
    const seen: unknown[] = [];
    class Own implements ExceptionClassifier {
      readonly answer = ExceptionRoutingDecision.nextTier();
      classify(error: Error, currentTier: number): ExceptionRoutingDecision {
        seen.push([error, currentTier]);
        return this.answer;
      }
    }
    const { classifier } = classifierFor(new Own());
    classifier.classify(failed(boom), 2);
    classifier.classify(failed(new BatchProcessingException(1, 'x', [], { cause: boom })), 0);
    expect(seen).toEqual([
      [boom, 2],
      [boom, 0],
    ]);
  });

  it('may return a decision made by another copy of the library', () => {
    const foreign = (routing: string, targetTier = -1) =>
      classifierFor(answering({ routing, targetTier })).classifier.classify(failed(boom), 0);
    expect(foreign('SKIP_TO_TIER', 2)).toMatchObject({
      decision: ExceptionRoutingDecision.skipToTier(2),
      isExplicit: true,
    });
    expect(foreign('NEXT_TIER')).toMatchObject(nextTier);
    expect(foreign('DEAD_LETTER')).toMatchObject(deadLetter);
    expect(foreign('PAUSE_CONTAINER').decision.routing).toBe('PAUSE_CONTAINER');
  });
});

describe('isPermanent', () => {
  const { classifier } = classifierFor();
  it.each<[string, Error, Failure['reason'], boolean]>([
    ['as true for a record that is dead-lettered', pg('23505'), 'retry-exhausted', true],
    ['as true for a bad message', boom, 'bad-message', true],
    ['as false for other failures', boom, 'retry-exhausted', false],
  ])('is decided %s', (_, error, reason, isPermanent) => {
    expect(classifier.classify(failed(error, reason), 0).isPermanent).toBe(isPermanent);
  });
});

describe('A classifier that fails', () => {
  const throwing = (thrown: unknown): ExceptionClassifier => ({
    classify: () => {
      throw thrown;
    },
  });
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };

  it.each<[string, ExceptionClassifier]>([
    ['it throws', throwing(new Error('broken'))],
    ['it throws a value that cannot be shown', throwing(Object.create(null))],
    ['nothing', answering(undefined)],
    ['null', answering(null)],
    ['a text', answering('DEAD_LETTER')],
    ['an unknown routing', answering({ routing: 'SOMEWHERE', targetTier: -1 })],
    ['an impossible tier', answering({ routing: 'SKIP_TO_TIER', targetTier: 0 })],
    ['no tier', answering({ routing: 'SKIP_TO_TIER' })],
    ['an object that cannot be read', answering(revoked())],
    ['a promise', answering(Promise.resolve(ExceptionRoutingDecision.nextTier()))],
  ])('is replaced by the default one, with an error in the log: %s', (_, own) => {
    const { classifier, logger } = classifierFor(own, pausing);
    expect(classifier.classify(failed(pg('23505')), 0)).toMatchObject({
      ...deadLetter,
      isExplicit: false,
    });
    expect(logger.lines).toMatchObject([{ level: 'error', context: { binding: 'orders' } }]);
  });

  it('leaves no unhandled rejection if it returned a promise that rejects', async () => {
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    const { classifier } = classifierFor(answering(Promise.reject(new Error('late'))));
    classifier.classify(failed(boom), 0);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

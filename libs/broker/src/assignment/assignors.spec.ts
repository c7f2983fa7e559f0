import { InvalidOptionError } from '../port/errors.js';
import { assignorNamed, assignorsInOrder } from './assignors.js';

const namesOf = (names?: readonly string[]): string[] =>
  assignorsInOrder(names).map(({ name }) => name);

describe('the assignors a member offers', () => {
  it('keep the order of preference, each once', () => {
    expect(namesOf(['range', 'sticky', 'range'])).toEqual(['range', 'sticky']);
  });

  it('are cooperative-sticky, then the eager ones, unless told otherwise', () => {
    expect(namesOf()).toEqual(['cooperative-sticky', 'sticky', 'range']);
  });

  it.each([[[]], [['roundrobin']], [['constructor']]])('cannot be %j', (names) => {
    expect(() => assignorsInOrder(names)).toThrow(InvalidOptionError);
  });

  it('are found by the name the broker chose', () => {
    expect(assignorNamed('range').name).toBe('range');
    expect(() => assignorNamed('toString')).toThrow(
      'Use one of: cooperative-sticky, sticky, range.',
    );
  });
});

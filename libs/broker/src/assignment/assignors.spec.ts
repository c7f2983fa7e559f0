import { InvalidOptionError } from '../port/errors.js';
import { assignorNamed, assignorsInOrder } from './assignors.js';

const namesOf = (names?: readonly string[]): string[] =>
  assignorsInOrder(names).map(({ name }) => name);

describe('assignorsInOrder and assignorNamed', () => {
  it('assignorsInOrder keeps the order of preference without duplicates', () => {
    expect(namesOf(['range', 'sticky', 'range'])).toEqual(['range', 'sticky']);
  });

  it('assignorsInOrder returns cooperative-sticky and then the eager assignors by default', () => {
    expect(namesOf()).toEqual(['cooperative-sticky', 'sticky', 'range']);
  });

  it.each([[[]], [['roundrobin']], [['constructor']]])('assignorsInOrder rejects %j', (names) => {
    expect(() => assignorsInOrder(names)).toThrow(InvalidOptionError);
  });

  it('assignorNamed finds the assignor that the broker chose', () => {
    expect(assignorNamed('range').name).toBe('range');
    expect(() => assignorNamed('toString')).toThrow(
      'Use one of: cooperative-sticky, sticky, range.',
    );
  });
});

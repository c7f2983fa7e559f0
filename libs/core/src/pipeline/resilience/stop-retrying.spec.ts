import { handedBack } from '../../model/outcomes/outcome.js';
import { StopRetrying } from './stop-retrying.js';

describe('StopRetrying', () => {
  it('captures no stack, because it is created for each failed delivery', () => {
    const end = new StopRetrying(handedBack);
    expect(end.outcome).toBe(handedBack);
    expect(end).not.toHaveProperty('stack');
  });
});

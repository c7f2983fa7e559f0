import { join } from 'node:path';
import { readPublicApi } from '../../tools/public-api.mjs';

/** A change here is a change of what users may rely on: look at it twice, then `npx jest -u`. */
describe('the public API', () => {
  const api = readPublicApi(join(__dirname, '../..'));

  it.each([...api])('of %s', (_entryPoint, names) => {
    expect(`\n${names.join('\n')}\n`).toMatchSnapshot();
  });

  it('has entry points', () => {
    expect([...api.keys()]).toMatchSnapshot();
  });
});

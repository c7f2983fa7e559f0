import { join } from 'node:path';
import { readPublicApi } from '../../tools/public-api.mjs';

/** A change of this snapshot changes the public API: review the change, then run `npx jest -u`. */
describe('The public API', () => {
  const api = readPublicApi(join(__dirname, '../..'));

  it.each([...api])('contains the names that the snapshot of %s lists', (_entryPoint, names) => {
    expect(`\n${names.join('\n')}\n`).toMatchSnapshot();
  });

  it('has at least one entry point', () => {
    expect([...api.keys()]).toMatchSnapshot();
  });
});

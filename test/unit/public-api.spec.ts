import { join } from 'node:path';
import { readPublicApi } from '../../tools/public-api.mjs';

/** A change of this snapshot changes what users may rely on: review it, then run `npx jest -u`. */
describe('The public API', () => {
  const api = readPublicApi(join(__dirname, '../..'));

  it.each([...api])('contains the snapshotted names of %s', (_entryPoint, names) => {
    expect(`\n${names.join('\n')}\n`).toMatchSnapshot();
  });

  it('has entry points', () => {
    expect([...api.keys()]).toMatchSnapshot();
  });
});

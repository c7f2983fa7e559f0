import { join } from 'node:path';
import { readPublicApi } from '../../tools/public-api.mjs';
import { findUnexportedTypes } from '../../tools/unexported-types.mjs';

/** A change of this snapshot changes the public API: review the change, then run `npx jest -u`. */
describe('The public API', () => {
  const root = join(__dirname, '../..');
  const api = readPublicApi(root);

  it.each([...api])('contains the names that the snapshot of %s lists', (_entryPoint, names) => {
    expect(`\n${names.join('\n')}\n`).toMatchSnapshot();
  });

  it('exports every type that its signatures name', () => {
    expect(findUnexportedTypes(root)).toEqual([]);
  });

  it('has at least one entry point', () => {
    expect([...api.keys()]).toMatchSnapshot();
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_ROUTES } from '../../libs/core/src/admin/api/routes/admin-routes.js';

const page = readFileSync(join(__dirname, '../../docs/reference/admin-api.md'), 'utf8');

describe('The reference of the admin API', () => {
  it.each(Object.entries(ADMIN_ROUTES))('lists %s with its route', (name, { method, path }) => {
    expect(page).toContain(`## ${name}\n`);
    expect(page).toContain(`\`${method} ${path}\``);
  });

  it('lists no other route', () => {
    const sections = [...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(Object.keys(ADMIN_ROUTES));
  });
});

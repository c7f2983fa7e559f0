import { outboxRoutes } from '@nest-event-bus/outbox-nest/bus';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_ROUTES } from '../../libs/core/src/admin/api/routes/admin-routes.js';

describe.each([
  ['of the admin API', 'admin-api.md', ADMIN_ROUTES],
  ['of the admin API of the outbox', 'outbox-admin-api.md', outboxRoutes],
])('The reference %s', (_, file, routes) => {
  const page = readFileSync(join(__dirname, '../../docs/reference', file), 'utf8');

  it.each(Object.entries(routes))('lists %s with its route', (name, { method, path }) => {
    expect(page).toContain(`## ${name}\n`);
    expect(page).toContain(`\`${method} ${path}\``);
  });

  it('lists no other route', () => {
    const sections = [...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(Object.keys(routes));
  });
});

import { SqlOutboxSchema } from './sql-outbox-schema.js';

describe('The statements of SqlOutboxSchema', () => {
  it.each(['postgres', 'mysql', 'sqlite'] as const)(
    'create the specified index on %s',
    (dialect) => {
      const statements = new SqlOutboxSchema(dialect).sql().join('\n');
      expect(statements).toMatch(/idx_status_available[^;]*\(status, available_at, created_at\)/);
    },
  );
});

/* The transaction type that each kind of database passes to its work. */

/** pg, mysql2. */
type ConnectionOf<Db> = Db extends { getConnection(): Promise<infer Connection> }
  ? Connection
  : Db extends { connect: { (): Promise<infer Client>; (callback: never): void } }
    ? Client
    : Db;

/** The type of the transaction that `OutboxTransactions.transaction` passes to its work. */
export type TransactionOf<Db> =
  // TypeORM
  Db extends { createQueryRunner(...args: never[]): unknown; readonly manager: infer Manager }
    ? Manager
    : // MikroORM and TypeORM's EntityManager
      Db extends { transactional(...args: never[]): unknown } | { readonly queryRunner?: unknown }
      ? Db
      : // Kysely
        Db extends { transaction(): { execute(work: (tx: infer Tx) => Promise<unknown>): unknown } }
        ? Tx
        : // Drizzle and Knex
          Db extends {
              transaction(work: (tx: infer Tx) => Promise<unknown>, ...rest: never[]): unknown;
            }
          ? Tx
          : // Prisma
            Db extends {
                $transaction(work: (tx: infer Tx) => Promise<unknown>, ...rest: never[]): unknown;
              }
            ? Tx
            : ConnectionOf<Db>;

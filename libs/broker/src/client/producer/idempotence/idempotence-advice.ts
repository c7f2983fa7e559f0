const CLUSTER_AUTHORIZATION_FAILED = 31;

/**
 * Returns the advice for credentials that allow writes but not idempotent ones; empty for every
 * other code.
 */
export function idempotenceAdvice(code: number): string {
  return code === CLUSTER_AUTHORIZATION_FAILED
    ? 'Grant them IDEMPOTENT_WRITE on the cluster (since Kafka 3.0 WRITE on any topic is enough), or set the producer option idempotent to false: a retry may then write a record twice.'
    : '';
}

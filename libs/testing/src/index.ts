export { KafkaServer, KAFKA_BROKERS_VARIABLE } from './kafka/kafka-server.js';
export { DEFAULT_KAFKA_VERSION, type KafkaServerOptions } from './kafka/kafka-server-options.js';
export {
  KafkaStartError,
  KafkaUnavailableError,
  type RefusedSource,
} from './kafka/kafka-unavailable-error.js';
export type {
  Certificates,
  SaslMechanism,
  SecuredListener,
  SecurityOptions,
} from './kafka/security-options.js';
export type { KafkaSource, StartedKafka } from './kafka/started-kafka.js';
export { unique } from './naming/unique.js';
export type { ByteCount } from './proxy/flow-control.js';
export { TcpProxy, type Direction, type TcpProxyOptions } from './proxy/tcp-proxy.js';
export { RabbitServerError, RabbitUnavailableError } from './rabbit/rabbit-errors.js';
export type {
  RabbitConnection,
  RabbitManagement,
  RabbitQueue,
} from './rabbit/rabbit-management.js';
export { RabbitServer, type RabbitServerOptions } from './rabbit/rabbit-server.js';
export type { StartedRabbit } from './rabbit/started-rabbit.js';
export type { RegisteredReference } from './schema-registry/registry-api.js';
export {
  SCHEMA_REGISTRY_VARIABLE,
  SchemaRegistry,
  type SchemaRegistryOptions,
} from './schema-registry/schema-registry.js';
export {
  SchemaRegistryError,
  SchemaRegistryUnavailableError,
} from './schema-registry/schema-registry-errors.js';
export type { StartedSchemaRegistry } from './schema-registry/started-schema-registry.js';
export { eventually, NotEventuallyError, type EventuallyOptions } from './waiting/eventually.js';

/** The network code that other folders use. Only this folder imports kafkajs. */
export * from './requests/admin-requests.js';
export { type ApiRequest, kafkajsRequest, defineRequest } from './requests/api-request.js';
export type { BearerToken } from './connection/oauth-bearer.js';
export {
  brokerCodes,
  describeCode,
  errorOfCode,
  reactionTo,
  type BrokerCode,
  type RequestKind,
  type Reaction,
} from './broker-codes.js';
export { byTopic } from './requests/by-topic.js';
export { ClusterFeatures } from './cluster/cluster-features.js';
export { Cluster, CONTROL_CHANNEL, type ClusterOptions } from './cluster/cluster.js';
export type { ClusterClient, ClusterRequestOptions, Target } from './cluster/cluster-client.js';
export * from './requests/consumer-describe-request.js';
export * from './requests/consumer-heartbeat-request.js';
export * from './requests/fetch-request.js';
export * from './requests/group-admin-requests.js';
export * from './requests/group-requests.js';
export * from './requests/join-request.js';
export { Metadata } from './cluster/metadata.js';
export {
  metadataRequest,
  type PartitionMetadata,
  type TopicMetadata,
} from './requests/metadata-request.js';
export { requireKafkajsVersion } from './connection/kafkajs-version.js';
export * from './requests/offset-requests.js';
export * from './requests/produce-request.js';
export * from './requests/producer-id-request.js';
export { transactionProtocolOf, type TransactionProtocol } from './cluster/transaction-protocol.js';
export * from './requests/transaction-requests.js';

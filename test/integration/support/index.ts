export {
  describeWithCluster,
  describeWithJava,
  describeWithKafka,
  type SharedKafka,
} from './describe-with-kafka.js';
export { describeWithRegistry } from './describe-with-registry.js';
export { describeWithService } from './describe-with-service.js';

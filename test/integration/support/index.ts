export {
  describeWithCluster,
  describeWithJava,
  describeWithKafka,
  type SharedKafka,
} from './describe-with-kafka.js';

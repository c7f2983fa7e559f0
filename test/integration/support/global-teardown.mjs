import { endSharedKafka } from './kafka-state.mjs';

export default endSharedKafka;
